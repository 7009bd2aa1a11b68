"""What a program said last, by recorded outputs: the exception, and no frame of its trace."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.real.last_words import last_words

TORN = """\
2026-11-27 19:17:32,632 ERROR RocketmqCommon load /store/config/consumerOffset.json Failed
com.alibaba.fastjson.JSONException: syntax error, expect {, actual EOF, pos 21, fastjson-version 1.2.69
\tat com.alibaba.fastjson.parser.deserializer.JavaBeanDeserializer.deserialze(JavaBeanDeserializer.java:503)
\tat com.alibaba.fastjson.parser.deserializer.FastjsonASMDeserializer_1_ConsumerOffsetManager.deserialze(Unknown Source)
\tat org.apache.rocketmq.common.ConfigManager.loadBak(ConfigManager.java:56)
\tat org.apache.rocketmq.broker.BrokerStartup.main(BrokerStartup.java:57)
"""
CAUSED = """\
2026-11-27 19:00:00,000 WARN  RocketmqBroker it goes on
Exception in thread "main" java.lang.RuntimeException: the store cannot be opened
\tat org.apache.rocketmq.store.MappedFile.<init>(MappedFile.java:74)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.nio.channels.OverlappingFileLockException
\tat java.base/sun.nio.ch.FileLockTable.checkList(FileLockTable.java:229)
\t... 3 more
"""
BARE = """\
java.lang.NullPointerException
\tat org.apache.rocketmq.broker.BrokerStartup.main(BrokerStartup.java:57)
"""
PYTHON = """\
Traceback (most recent call last):
  File "node.py", line 1, in <module>
KeyError: 'conf'
"""


@pytest.mark.parametrize(("said", "words"), [
    (TORN, "2026-11-27 19:17:32,632 ERROR RocketmqCommon load /store/config/consumerOffset.json Failed | "
           "com.alibaba.fastjson.JSONException: syntax error, expect {, actual EOF, pos 21, fastjson-version 1.2.69"),
    (CAUSED, 'Exception in thread "main" java.lang.RuntimeException: the store cannot be opened | '
             "Caused by: java.nio.channels.OverlappingFileLockException"),
    (BARE, "java.lang.NullPointerException"),
    (TORN + "the broker shuts down\n\n", "the broker shuts down"),
    (PYTHON, "KeyError: 'conf'"),
    ("\tat a.B.c(B.java:1)\n", "at a.B.c(B.java:1)"),
    ("", ""),
    ("\n \n", ""),
])  # fmt: skip
def test_a_trace_at_the_end_is_told_by_its_exception(said: str, words: str) -> None:
    assert last_words(said) == words


def test_more_lines_have_no_frames_either() -> None:
    assert last_words(f"it starts\n{CAUSED}it ends\n", 3).split(" | ")[1:] == [
        "Caused by: java.nio.channels.OverlappingFileLockException", "it ends",
    ]  # fmt: skip
    assert "\tat " not in last_words(TORN, 6) and last_words("one\ntwo\nthree", 2) == "two | three"

package pairproof;

import static net.bytebuddy.matcher.ElementMatchers.isBridge;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.not;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.security.ProtectionDomain;
import java.util.Set;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.MemberSubstitution;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.pool.TypePool;

/**
 * Gives a broker of RocketMQ the hooks of the lab's reference nodes, see chaos/labs/real/control.py.
 *
 * <p>Nine classes are changed in every version; all others are loaded unchanged, since inspecting each would double a
 * broker's start time. In these classes, calls that make a mapped file durable go through {@link Seams}, and so do
 * dispatch, appends to a log, and sends and receives on connections.
 */
public final class Agent {
    /** Classes with {@code flush()} in 4.x and 5.x. The first two are the files of logs and queues. */
    private static final Set<String> FLUSHES = Set.of(
            "org/apache/rocketmq/store/MappedFile",
            "org/apache/rocketmq/store/logfile/DefaultMappedFile",
            "org/apache/rocketmq/store/index/IndexFile",
            "org/apache/rocketmq/store/StoreCheckpoint");

    private static final Set<String> TELLS = Set.of(
            "org.apache.rocketmq.store.MappedFile", "org.apache.rocketmq.store.logfile.DefaultMappedFile");
    private static final String DISPATCHES = "org/apache/rocketmq/store/DefaultMessageStore$ReputMessageService";
    /** Readers and writers of the connections between master and slave in 4.x and 5.x. */
    private static final Set<String> SOCKETS = Set.of(
            "org/apache/rocketmq/store/ha/HAConnection$ReadSocketService",
            "org/apache/rocketmq/store/ha/HAConnection$WriteSocketService",
            "org/apache/rocketmq/store/ha/HAService$HAClient",
            "org/apache/rocketmq/store/ha/DefaultHAConnection$ReadSocketService",
            "org/apache/rocketmq/store/ha/DefaultHAConnection$WriteSocketService",
            "org/apache/rocketmq/store/ha/DefaultHAClient");
    /** Sends and receives all commands of clients, brokers and name servers. */
    private static final String ENCODER = "org/apache/rocketmq/remoting/netty/NettyEncoder";
    private static final String DECODER = "org/apache/rocketmq/remoting/netty/NettyDecoder";

    /** The lab's own exit status: neither the broker nor its disk failed. */
    private static final int EXIT_LAB = 3;

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) throws Exception {
        Seams.open(System.getProperty("pairproof.control"), System.getProperty("pairproof.trace"));
        instrumentation.addTransformer(new Seamstress());
    }

    private static final class Seamstress implements ClassFileTransformer {
        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] data) {
            if (name == null || !isChanged(name)) {
                return null;
            }
            try {
                return transformed(loader, name.replace('/', '.'), data);
            } catch (Throwable why) {
                // The JVM would ignore it, and run the unchanged class.
                System.err.println("pairproof's agent cannot change " + name + ": " + why);
                Runtime.getRuntime().halt(EXIT_LAB);
                return null;
            }
        }
    }

    private static boolean isChanged(String name) {
        return FLUSHES.contains(name)
                || SOCKETS.contains(name)
                || name.equals(DISPATCHES)
                || name.equals(ENCODER)
                || name.equals(DECODER);
    }

    private static byte[] transformed(ClassLoader loader, String name, byte[] data) throws NoSuchMethodException {
        ClassFileLocator classes = new ClassFileLocator.Compound(
                ClassFileLocator.Simple.of(name, data),
                ClassFileLocator.ForClassLoader.of(loader),
                ClassFileLocator.ForClassLoader.ofPlatformLoader());
        TypeDescription type = TypePool.Default.of(classes).describe(name).resolve();
        DynamicType.Builder<?> builder =
                new ByteBuddy().with(TypeValidation.DISABLED).redefine(type, classes);
        String path = name.replace('.', '/');
        if (path.equals(DISPATCHES)) {
            builder = builder.visit(Advice.to(Dispatch.class).on(named("doReput")));
        } else if (path.equals(ENCODER)) {
            builder = builder.visit(Advice.to(Encode.class).on(named("encode").and(not(isBridge()))));
        } else if (path.equals(DECODER)) {
            builder = builder.visit(Advice.to(Decode.class).on(named("decode").and(returns(Object.class))));
        } else if (SOCKETS.contains(path)) {
            builder = builder.visit(MemberSubstitution.relaxed()
                    .method(named("write").and(takesArguments(ByteBuffer.class)))
                    .replaceWith(Seams.class.getMethod("write", SocketChannel.class, ByteBuffer.class))
                    .method(named("read").and(takesArguments(ByteBuffer.class)))
                    .replaceWith(Seams.class.getMethod("read", SocketChannel.class, ByteBuffer.class))
                    .on(isMethod()));
        } else {
            builder = builder.visit(MemberSubstitution.relaxed()
                    .method(named("force").and(takesArguments(0)))
                    .replaceWith(Seams.class.getMethod("force", MappedByteBuffer.class))
                    .method(named("force").and(takesArguments(boolean.class)))
                    .replaceWith(Seams.class.getMethod("force", FileChannel.class, boolean.class))
                    .on(named("flush")));
        }
        if (TELLS.contains(name)) {
            builder = builder
                    .visit(Advice.to(Flush.class).on(named("flush").and(takesArguments(int.class))))
                    .visit(Advice.to(Append.class)
                            .on(named("appendMessagesInner")
                                    .or(named("appendMessage")
                                            .and(takesArguments(byte[].class, int.class, int.class)))));
        }
        return builder.make().getBytes();
    }

    /** A file's flush, which returns the durable end of the file. */
    static final class Flush {
        private Flush() {}

        @Advice.OnMethodEnter
        static void begins() {
            Seams.begins();
        }

        @Advice.OnMethodExit
        static void ended(
                @Advice.FieldValue("fileName") String file,
                @Advice.FieldValue("fileFromOffset") long start,
                @Advice.Return int upto) {
            Seams.flushed(file, start + upto);
        }
    }

    /** A message, or bytes from the master, are appended to a file. */
    static final class Append {
        private Append() {}

        @Advice.OnMethodExit
        static void ended(@Advice.FieldValue("fileName") String file) {
            Seams.appended(file);
        }
    }

    /** A command is about to be sent. */
    static final class Encode {
        private Encode() {}

        @Advice.OnMethodEnter
        static void begins() {
            Seams.sends();
        }
    }

    /** A complete command was received, unless more bytes are needed. */
    static final class Decode {
        private Decode() {}

        @Advice.OnMethodExit
        static void ended(@Advice.Return Object command) {
            if (command != null) {
                Seams.received();
            }
        }
    }

    /** One round of deriving queues and index from the log: skipped while dispatch is stalled. */
    static final class Dispatch {
        private Dispatch() {}

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean isHeld() {
            return Seams.isUndispatched();
        }
    }
}

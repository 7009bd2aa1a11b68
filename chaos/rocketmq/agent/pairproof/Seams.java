package pairproof;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;

/**
 * What a changed class calls: flushes and dispatch obey the numbers of the lab's control file, and flushes of the
 * commit log are traced, a line with one write each.
 *
 * <p>The numbers are those of chaos/labs/real/control.py, and the line is that of chaos/labs/real/trace.py.
 */
public final class Seams {
    private static final int STALLED = 0, SLOW_MS = 1, LIES = 2, UNDISPATCHED = 5;
    private static final int HELD = 6, SLOWED = 7, LIED = 8, DISPATCHES_HELD = 10;
    private static final int FIELDS = 11;
    private static final long POLL_MS = 1;
    private static final String LOG = "commitlog";
    private static final int EXIT_LAB = 3;
    /** Whether this thread's flush got as far as the disk: RocketMQ 4.9 goes on as if, where that failed. */
    private static final ThreadLocal<Boolean> IS_DURABLE = ThreadLocal.withInitial(() -> false);

    private static ByteBuffer control;
    private static FileOutputStream trace;

    private Seams() {}

    static void open(String controlFile, String traceFile) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(controlFile, "rw")) {
            control = file.getChannel()
                    .map(FileChannel.MapMode.READ_WRITE, 0, FIELDS * Long.BYTES)
                    .order(ByteOrder.nativeOrder());
        }
        trace = new FileOutputStream(traceFile, true);
    }

    // What is called in place of the same methods of the JDK.

    public static MappedByteBuffer force(MappedByteBuffer file) {
        if (isToBeMadeDurable()) {
            file.force();
        }
        IS_DURABLE.set(true);
        return file;
    }

    public static void force(FileChannel file, boolean metadata) throws IOException {
        if (isToBeMadeDurable()) {
            file.force(metadata);
        }
        IS_DURABLE.set(true);
    }

    // What is called beside them.

    public static void begins() {
        IS_DURABLE.set(false);
    }

    public static void flushed(String file, long upto) {
        if (IS_DURABLE.get() && LOG.equals(new File(file).getParentFile().getName())) {
            note("[" + System.nanoTime() + ",\"flush\"," + upto + "]\n");
        }
    }

    public static boolean isUndispatched() {
        boolean held = get(UNDISPATCHED) > 0;
        if (held) {
            count(DISPATCHES_HELD);
        }
        return held;
    }

    /** Waits as the disk does now; whether it then does what it is told. */
    private static boolean isToBeMadeDurable() {
        if (get(STALLED) > 0) {
            count(HELD);
            // Bounded by the harness: when it ends, this process is ended, too.
            while (get(STALLED) > 0) {
                sleep(POLL_MS);
            }
        }
        long slowMs = get(SLOW_MS);
        if (slowMs > 0) {
            count(SLOWED);
            sleep(slowMs);
        }
        if (get(LIES) == 0) {
            return true;
        }
        count(LIED);
        return false;
    }

    /** No interrupt ends it, as none ends a disk's work; it is passed on. */
    private static void sleep(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        boolean interrupted = false;
        for (long left = ms; left > 0; left = (end - System.nanoTime() + 999_999) / 1_000_000) {
            try {
                Thread.sleep(left);
            } catch (InterruptedException why) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static long get(int field) {
        return control.getLong(field * Long.BYTES);
    }

    private static synchronized void count(int field) {
        control.putLong(field * Long.BYTES, get(field) + 1);
    }

    private static synchronized void note(String line) {
        try {
            trace.write(line.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException why) {
            // Without it the trial could not be judged.
            System.err.println("pairproof's agent cannot write its trace: " + why.getMessage());
            Runtime.getRuntime().halt(EXIT_LAB);
        }
    }
}

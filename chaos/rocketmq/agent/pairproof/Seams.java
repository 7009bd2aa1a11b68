package pairproof;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * The hooks that changed classes call: flushes and dispatch obey the lab's control file, threads stop at armed points,
 * and flushes of the commit log are traced, a line with one write each.
 *
 * <p>chaos/labs/real/control.py defines the numbers, and chaos/labs/real/trace.py the line.
 */
public final class Seams {
    private static final int STALLED = 0, SLOW_MS = 1, LIES = 2, UNDISPATCHED = 5;
    private static final int APPEND_AT = 6, FLUSH_AT = 7, SEND_AT = 8, RECV_AT = 9, GOES = 10;
    private static final int HELD = 11, SLOWED = 12, LIED = 13, DISPATCHES_HELD = 15;
    private static final int APPEND_PASSED = 16, STOPS = 20;
    private static final int FIELDS = 21;
    private static final long POLL_MS = 1;
    /** Longest stop of a thread at an armed point. */
    private static final long STOP_NS = 250_000_000;

    private static final String LOG = "commitlog";
    private static final int EXIT_LAB = 3;
    /** Whether this thread's flush reached the disk: RocketMQ 4.9 ignores a failure. */
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

    // Replacements of the same methods of the JDK.

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

    // Additional calls.

    public static void begins() {
        IS_DURABLE.set(false);
    }

    public static void flushed(String file, long upto) {
        if (IS_DURABLE.get() && isOfTheLog(file)) {
            note("[" + System.nanoTime() + ",\"flush\"," + upto + "]\n");
            pass(FLUSH_AT);
        }
    }

    public static void appended(String file) {
        if (isOfTheLog(file)) {
            pass(APPEND_AT);
        }
    }

    public static void sends() {
        pass(SEND_AT);
    }

    public static void received() {
        pass(RECV_AT);
    }

    public static int write(SocketChannel to, ByteBuffer data) throws IOException {
        pass(SEND_AT);
        return to.write(data);
    }

    public static int read(SocketChannel from, ByteBuffer data) throws IOException {
        int size = from.read(data);
        if (size > 0) {
            pass(RECV_AT);
        }
        return size;
    }

    public static boolean isUndispatched() {
        boolean held = get(UNDISPATCHED) > 0;
        if (held) {
            count(DISPATCHES_HELD);
        }
        return held;
    }

    private static boolean isOfTheLog(String file) {
        return LOG.equals(new File(file).getParentFile().getName());
    }

    /** This thread passes a point, and stops if it is armed. */
    private static void pass(int point) {
        long stopsAt = get(point);
        // While one thread waits, others pass: each is counted once.
        if (stopsAt == 0 || count(point + APPEND_PASSED - APPEND_AT) != stopsAt) {
            return;
        }
        long stop = count(STOPS);
        long end = System.nanoTime() + STOP_NS;
        while (get(GOES) < stop && System.nanoTime() < end) {
            sleep(POLL_MS);
        }
    }

    /** Waits as long as the disk; returns whether the disk does not lie. */
    private static boolean isToBeMadeDurable() {
        if (get(STALLED) > 0) {
            count(HELD);
            // The harness limits the stall: at its end it ends this process, too.
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

    /** An interrupt does not end it, as with a disk; it is restored. */
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

    private static synchronized long count(int field) {
        long counted = get(field) + 1;
        control.putLong(field * Long.BYTES, counted);
        return counted;
    }

    private static synchronized void note(String line) {
        try {
            trace.write(line.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException why) {
            // Without the trace the trial could not be judged.
            System.err.println("pairproof's agent cannot write its trace: " + why.getMessage());
            Runtime.getRuntime().halt(EXIT_LAB);
        }
    }
}

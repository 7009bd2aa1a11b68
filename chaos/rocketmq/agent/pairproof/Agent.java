package pairproof;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
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
 * Gives a broker of RocketMQ the seams that the lab's reference nodes have, see chaos/labs/real/control.py.
 *
 * <p>Four classes are changed, whatever the version; all others are loaded as they are, since looking at each would
 * double the time that a broker needs to start. In these the calls that make a mapped file durable go through {@link
 * Seams}, and so does what derives queues from the log.
 */
public final class Agent {
    /** Of 4.x and of 5.x: what has {@code flush()}. The first two are the files of logs and queues. */
    private static final Set<String> FLUSHES = Set.of(
            "org/apache/rocketmq/store/MappedFile",
            "org/apache/rocketmq/store/logfile/DefaultMappedFile",
            "org/apache/rocketmq/store/index/IndexFile",
            "org/apache/rocketmq/store/StoreCheckpoint");

    private static final Set<String> TELLS = Set.of(
            "org.apache.rocketmq.store.MappedFile", "org.apache.rocketmq.store.logfile.DefaultMappedFile");
    private static final String DISPATCHES = "org/apache/rocketmq/store/DefaultMessageStore$ReputMessageService";
    /** As the lab's own: what is to blame is neither the broker nor its disk. */
    private static final int EXIT_LAB = 3;

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) throws Exception {
        Seams.open(System.getProperty("pairproof.control"), System.getProperty("pairproof.trace"));
        instrumentation.addTransformer(new Seamstress());
    }

    private static final class Seamstress implements ClassFileTransformer {
        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] data) {
            if (name == null || !(FLUSHES.contains(name) || name.equals(DISPATCHES))) {
                return null;
            }
            try {
                return transformed(loader, name.replace('/', '.'), data);
            } catch (Throwable why) {
                // The JVM would pass over it, and run the class as it was.
                System.err.println("pairproof's agent cannot change " + name + ": " + why);
                Runtime.getRuntime().halt(EXIT_LAB);
                return null;
            }
        }
    }

    private static byte[] transformed(ClassLoader loader, String name, byte[] data) throws NoSuchMethodException {
        ClassFileLocator classes = new ClassFileLocator.Compound(
                ClassFileLocator.Simple.of(name, data),
                ClassFileLocator.ForClassLoader.of(loader),
                ClassFileLocator.ForClassLoader.ofPlatformLoader());
        TypeDescription type = TypePool.Default.of(classes).describe(name).resolve();
        DynamicType.Builder<?> builder =
                new ByteBuddy().with(TypeValidation.DISABLED).redefine(type, classes);
        if (name.equals(DISPATCHES.replace('/', '.'))) {
            builder = builder.visit(Advice.to(Dispatch.class).on(named("doReput")));
        } else {
            builder = builder.visit(MemberSubstitution.relaxed()
                    .method(named("force").and(takesArguments(0)))
                    .replaceWith(Seams.class.getMethod("force", MappedByteBuffer.class))
                    .method(named("force").and(takesArguments(boolean.class)))
                    .replaceWith(Seams.class.getMethod("force", FileChannel.class, boolean.class))
                    .on(named("flush")));
        }
        if (TELLS.contains(name)) {
            builder = builder.visit(Advice.to(Flush.class).on(named("flush").and(takesArguments(int.class))));
        }
        return builder.make().getBytes();
    }

    /** A file's flush, which ends by saying up to where the file is durable. */
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

    /** One round of what derives queues and index from the log: left out while dispatch stalls. */
    static final class Dispatch {
        private Dispatch() {}

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean isHeld() {
            return Seams.isUndispatched();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

package org.gust.launcher;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Stands by for a worker: loads the classes that a worker needs, waits for a word, and then is the worker. The arguments
 * are the worker's main class and its arguments.
 *
 * <p>Standard input is one end of a socket pair. This side says {@code u} when it is up, {@code w} when its classes are
 * loaded and {@code b} when it begins to be the worker, because it was told {@code g}. When the other end is closed it
 * ends, at whatever point it is.
 *
 * <p>Until then nothing of Storm runs but the static initializers of classes that every worker initializes before its
 * first tuple. These ask for loggers, so log4j is up already, with a configuration that has no appender.
 */
public final class Twin {
    private static final String CONFIGURATION = "log4j.configurationFile";
    private static final String QUIET = "gust-quiet";
    /** How long classes are loaded without a pause, and how much longer than that the pause is. */
    private static final long SLICE_NANOS = 5_000_000;
    private static final int REST = 3;
    /** How often and for how long the worker's activation is looked for. */
    private static final long WAKER_MILLIS = 5;
    private static final long WAKER_SECONDS = 30;

    private final InputStream in = new FileInputStream(FileDescriptor.in);
    private final OutputStream out = new FileOutputStream(FileDescriptor.in);
    private final CountDownLatch released = new CountDownLatch(1);

    private Twin() {
    }

    public static void main(String[] args) throws Throwable {
        new Twin().stand();
        Thread waker = new Thread(Twin::wakeActivation, "gust-twin-waker");
        waker.setDaemon(true);
        waker.start();
        try {
            Class.forName(args[0]).getMethod("main", String[].class)
                    .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private void stand() throws Exception {
        say('u');
        Thread ear = new Thread(this::listen, "gust-twin");
        ear.setDaemon(true);
        ear.start();
        String configuration = System.getProperty(CONFIGURATION);
        System.setProperty(CONFIGURATION, "classpath:org/gust/launcher/quiet.xml");
        load();
        if (released.getCount() > 0) {
            say('w');
        }
        released.await();
        if (configuration == null) {
            System.clearProperty(CONFIGURATION);
        } else {
            System.setProperty(CONFIGURATION, configuration);
        }
        startLogging();
        say('b');
    }

    /** The other end's death must end this process even while it loads classes. */
    private void listen() {
        int word;
        try {
            word = in.read();
        } catch (IOException e) {
            word = -1;
        }
        if (word != 'g') {
            Runtime.getRuntime().halt(0);
        }
        released.countDown();
    }

    private void say(char word) {
        try {
            out.write(word);
        } catch (IOException e) {
            // Nobody is there any more. Whoever was not released learns that by listening too.
        }
    }

    /** Loads and initializes the classes, in pieces, so that the running worker keeps the processors. */
    private void load() throws Exception {
        try (BufferedReader names = new BufferedReader(new InputStreamReader(
                Twin.class.getResourceAsStream("classes.txt"), StandardCharsets.US_ASCII))) {
            long begun = System.nanoTime();
            for (String name = names.readLine(); name != null && released.getCount() > 0; name = names.readLine()) {
                initialize(name);
                long worked = System.nanoTime() - begun;
                if (worked >= SLICE_NANOS) {
                    // Ends early when the word comes.
                    released.await(worked * REST, TimeUnit.NANOSECONDS);
                    begun = System.nanoTime();
                }
            }
        }
    }

    /** Names after a minus are of classes that a worker loads and does not initialize. */
    private static void initialize(String entry) {
        boolean initialize = !entry.startsWith("-");
        String name = initialize ? entry : entry.substring(1);
        try {
            Class.forName(name, initialize, Twin.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            // Another version of Storm or Java does without it.
        } catch (ExceptionInInitializerError e) {
            // The class is spoilt for this process, so the worker would not be one like others.
            giveUp(name + " cannot be initialized", e);
        } catch (LinkageError e) {
            // It misses a class of another version; the worker will not need it either, or say so itself.
        }
    }

    /** Has log4j read the worker's own configuration, as it would have at its start. */
    private static void startLogging() {
        try {
            Class<?> properties = Class.forName("org.apache.logging.log4j.util.PropertiesUtil");
            properties.getMethod("reload").invoke(properties.getMethod("getProperties").invoke(null));
            Object context = Class.forName("org.apache.logging.log4j.LogManager").getMethod("getContext", boolean.class)
                    .invoke(null, false);
            context.getClass().getMethod("reconfigure").invoke(context);
            Object now = context.getClass().getMethod("getConfiguration").invoke(context);
            if (QUIET.equals(now.getClass().getMethod("getName").invoke(now))) {
                giveUp("log4j does not take the worker's configuration", null);
            }
        } catch (ClassNotFoundException e) {
            // No log4j: nothing was set aside.
        } catch (ReflectiveOperationException e) {
            giveUp("log4j cannot be told the worker's configuration", e);
        }
    }

    /**
     * Saves the worker a wait of up to a second. Its timer of this name looks at its queue, finds nothing and sleeps for a
     * second; only then the worker's activation is put into the queue. An interrupt of the sleep is something that the timer
     * allows for: it looks again. It must be asleep, though, since it takes an interrupt at work for its end.
     */
    private static void wakeActivation() {
        try {
            Class<?> type = Class.forName("org.apache.storm.StormTimer$StormTimerTask");
            Field queue = type.getDeclaredField("queue");
            queue.setAccessible(true);
            long last = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAKER_SECONDS);
            while (System.nanoTime() < last) {
                Thread timer = find("refresh-active-timer", type);
                if (timer != null && isDue(((Queue<?>) queue.get(timer)).peek()) && asleep(timer)) {
                    timer.interrupt();
                    Thread.sleep(TimeUnit.SECONDS.toMillis(1));
                    if (!timer.isAlive()) {
                        giveUp("the worker's activation timer took the waking for its end", null);
                    }
                    return;
                }
                Thread.sleep(WAKER_MILLIS);
            }
        } catch (ReflectiveOperationException | RuntimeException | InterruptedException e) {
            // Another version of Storm: it waits as long as it does.
        }
    }

    /** A timer that sleeps although its next task is due is one that slept before it got the task. */
    private static boolean isDue(Object entry) throws ReflectiveOperationException {
        if (entry == null) {
            return false;
        }
        Field end = entry.getClass().getDeclaredField("endTimeMs");
        end.setAccessible(true);
        return (Long) end.get(entry) <= System.currentTimeMillis();
    }

    private static Thread find(String name, Class<?> type) {
        Thread[] all = new Thread[Thread.activeCount() * 2];
        int count = Thread.enumerate(all);
        for (int i = 0; i < count; i++) {
            if (type.isInstance(all[i]) && name.equals(all[i].getName())) {
                return all[i];
            }
        }
        return null;
    }

    private static boolean asleep(Thread thread) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if ("java.lang.Thread".equals(frame.getClassName()) && "sleep".equals(frame.getMethodName())) {
                return thread.getState() == Thread.State.TIMED_WAITING;
            }
        }
        return false;
    }

    private static void giveUp(String why, Throwable cause) {
        System.err.println("gust twin: " + why);
        if (cause != null) {
            cause.printStackTrace();
        }
        Runtime.getRuntime().halt(3);
    }
}

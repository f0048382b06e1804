// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * Runs command classes of Storm one after the other in this JVM: a line has the class, in org.apache.storm.command, and its
 * arguments, separated by tabs. The answer is a line of "=" and base64: what the command printed and logged, and the exception it
 * ended with. A class with a "*" before it runs without an end: it is interrupted once it has printed two lines.
 */
public final class Commands {
    private Commands() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            System.setOut(new PrintStream(said, true, "UTF-8"));
            run(line, said);
            answers.println("=" + Base64.getEncoder().encodeToString(said.toByteArray()));
            answers.flush();
        }
    }

    private static void run(String line, ByteArrayOutputStream said) throws Exception {
        boolean endless = line.startsWith("*");
        String[] words = line.substring(endless ? 1 : 0).split("\t");
        Thread thread = new Thread(() -> call(words, endless));
        thread.setDaemon(true);
        thread.start();
        while (endless && thread.isAlive() && lines(said) < 2) {
            thread.join(50);
        }
        if (endless) {
            thread.interrupt();
        }
        thread.join();
    }

    private static long lines(ByteArrayOutputStream said) {
        return new String(said.toByteArray(), StandardCharsets.UTF_8).chars().filter(c -> c == '\n').count();
    }

    private static void call(String[] words, boolean endless) {
        try {
            Class.forName("org.apache.storm.command." + words[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
        } catch (InvocationTargetException e) {
            if (!endless || !(e.getCause() instanceof InterruptedException)) {
                System.out.println("exception: " + e.getCause());
            }
        } catch (ReflectiveOperationException e) {
            System.out.println("no such command: " + e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

// Storm's generated classes, asked over standard input and output: which there are, what random instances of them look
// like on the wire, and whether bytes mean the same to them.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.thrift.TBase;
import org.apache.storm.thrift.TDeserializer;
import org.apache.storm.thrift.TFieldIdEnum;
import org.apache.storm.thrift.TFieldRequirementType;
import org.apache.storm.thrift.TSerializer;
import org.apache.storm.thrift.TUnion;
import org.apache.storm.thrift.meta_data.EnumMetaData;
import org.apache.storm.thrift.meta_data.FieldMetaData;
import org.apache.storm.thrift.meta_data.FieldValueMetaData;
import org.apache.storm.thrift.meta_data.ListMetaData;
import org.apache.storm.thrift.meta_data.MapMetaData;
import org.apache.storm.thrift.meta_data.SetMetaData;
import org.apache.storm.thrift.meta_data.StructMetaData;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.thrift.protocol.TType;

/**
 * Questions are one byte and their arguments, answers are byte arrays with a length in front:
 * 'L' names of all classes, one a line; 'G' name, seed: bytes of a random instance; 'C' name, seed, bytes: empty if the
 * bytes are equal to that instance, else why not; 'E' name, bytes: what the decoded bytes are encoded to.
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public final class Structs {
    private static final String PACKAGE = "org.apache.storm.generated.";
    private static final int DEEPEST = 5;

    private Structs() {
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(new PrintStream(System.out, false));
        System.setOut(System.err);
        for (int op = in.read(); op >= 0; op = in.read()) {
            byte[] answer;
            try {
                answer = answer((char) op, in);
                out.writeByte(0);
            } catch (IOException e) {
                throw e;
            } catch (Exception | StackOverflowError e) {
                StringWriter text = new StringWriter();
                text.append((char) op).append(": ").append(e.toString());
                answer = text.toString().getBytes(StandardCharsets.UTF_8);
                out.writeByte(1);
            }
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static byte[] answer(char op, DataInputStream in) throws Exception {
        if (op == 'L') {
            return String.join("\n", names()).getBytes(StandardCharsets.UTF_8);
        }
        String name = in.readUTF();
        if (op == 'G') {
            return encode(random(name, in.readLong()));
        }
        if (op == 'C') {
            TBase want = random(name, in.readLong());
            TBase got = decode(name, bytes(in));
            if (want.equals(got)) {
                return new byte[0];
            }
            return ("want " + want + "\ngot  " + got).getBytes(StandardCharsets.UTF_8);
        }
        if (op == 'E') {
            return encode(decode(name, bytes(in)));
        }
        throw new IllegalArgumentException("no such question");
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] b = new byte[in.readInt()];
        in.readFully(b);
        return b;
    }

    /** Every class of the package that is a struct, union, exception, argument list or result. */
    private static Collection<String> names() throws Exception {
        Path jar = Path.of(Nimbus.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        TreeSet<String> names = new TreeSet<>();
        try (JarFile file = new JarFile(jar.toFile())) {
            for (String entry : (Iterable<String>) file.stream().map(e -> e.getName())::iterator) {
                String name = entry.replace('/', '.');
                if (!name.startsWith(PACKAGE) || !name.endsWith(".class")) {
                    continue;
                }
                Class<?> c = Class.forName(name.substring(0, name.length() - ".class".length()));
                if (TBase.class.isAssignableFrom(c) && !Modifier.isAbstract(c.getModifiers())) {
                    names.add(c.getName().substring(PACKAGE.length()));
                }
            }
        }
        return names;
    }

    private static TBase fresh(String name) throws Exception {
        return (TBase) Class.forName(PACKAGE + name).getDeclaredConstructor().newInstance();
    }

    private static byte[] encode(TBase value) throws Exception {
        return new TSerializer(new TBinaryProtocol.Factory()).serialize(value);
    }

    private static TBase decode(String name, byte[] bytes) throws Exception {
        TBase value = fresh(name);
        new TDeserializer(new TBinaryProtocol.Factory()).deserialize(value, bytes);
        return value;
    }

    /** Seed 0 has every field, seed 1 only those that must be there, every other one a part of the fields. */
    private static TBase random(String name, long seed) throws Exception {
        double share = seed == 0 ? 1 : seed == 1 ? 0 : 0.6;
        return struct((Class<? extends TBase>) Class.forName(PACKAGE + name), new Random(seed * 31 + name.hashCode()), share, 0);
    }

    private static TBase struct(Class<? extends TBase> type, Random random, double share, int depth) throws Exception {
        TBase value = type.getDeclaredConstructor().newInstance();
        Map<TFieldIdEnum, FieldMetaData> fields = new TreeMap<>((a, b) -> a.getThriftFieldId() - b.getThriftFieldId());
        fields.putAll((Map<TFieldIdEnum, FieldMetaData>) type.getField("metaDataMap").get(null));
        if (value instanceof TUnion) {
            List<TFieldIdEnum> ids = new ArrayList<>(fields.keySet());
            TFieldIdEnum chosen = ids.get(random.nextInt(ids.size()));
            value.setFieldValue(chosen, any(fields.get(chosen).valueMetaData, random, share, depth + 1));
            return value;
        }
        for (Map.Entry<TFieldIdEnum, FieldMetaData> field : fields.entrySet()) {
            FieldMetaData meta = field.getValue();
            // A field that is neither required nor optional is written by Go in any case, so it has a value here too.
            boolean free = meta.requirementType == TFieldRequirementType.OPTIONAL || isResult(type);
            if (free && (depth > DEEPEST || random.nextDouble() >= share)) {
                continue;
            }
            value.setFieldValue(field.getKey(), any(meta.valueMetaData, random, share, depth + 1));
        }
        return value;
    }

    /** The fields of a result are all optional, whatever their metadata says. */
    private static boolean isResult(Class<?> type) {
        return type.getName().endsWith("_result");
    }

    private static Object any(FieldValueMetaData meta, Random random, double share, int depth) throws Exception {
        switch (meta.type) {
            case TType.BOOL:
                return random.nextBoolean();
            case TType.BYTE:
                return (byte) random.nextInt();
            case TType.I16:
                return (short) random.nextInt();
            case TType.I32:
                return meta instanceof EnumMetaData ? constant((EnumMetaData) meta, random) : (Object) random.nextInt();
            case TType.ENUM:
                return constant((EnumMetaData) meta, random);
            case TType.I64:
                return random.nextLong();
            case TType.DOUBLE:
                return random.nextInt(8) == 0 ? 0.0 : random.nextGaussian() * 1e9;
            case TType.STRING:
                return meta.isBinary() ? (Object) ByteBuffer.wrap(binary(random)) : text(random);
            case TType.STRUCT:
                return struct((Class<? extends TBase>) ((StructMetaData) meta).structClass, random, share, depth);
            case TType.LIST:
                return fill(new ArrayList<>(), ((ListMetaData) meta).elemMetaData, length(random, share, depth), random, share, depth);
            case TType.SET:
                return fill(new HashSet<>(), ((SetMetaData) meta).elemMetaData, length(random, share, depth), random, share, depth);
            case TType.MAP:
                return map((MapMetaData) meta, random, share, depth);
            default:
                throw new IllegalArgumentException("type " + meta.type);
        }
    }

    private static Map<Object, Object> map(MapMetaData meta, Random random, double share, int depth) throws Exception {
        Map<Object, Object> map = new HashMap<>();
        for (int n = length(random, share, depth); n > 0; n--) {
            Object key;
            if (meta.keyMetaData instanceof ListMetaData) { // only executors, which are two numbers
                key = fill(new ArrayList<>(), ((ListMetaData) meta.keyMetaData).elemMetaData, 2, random, share, depth + 1);
            } else {
                key = any(meta.keyMetaData, random, share, depth + 1);
            }
            map.put(key, any(meta.valueMetaData, random, share, depth + 1));
        }
        return map;
    }

    private static Object fill(Collection<Object> into, FieldValueMetaData meta, int n, Random random, double share, int depth)
            throws Exception {
        for (int i = 0; i < n; i++) {
            into.add(any(meta, random, share, depth + 1));
        }
        return into;
    }

    /** A full instance has no empty container near its root, and none is large. */
    private static int length(Random random, double share, int depth) {
        if (depth > DEEPEST) {
            return 0;
        }
        return share == 1 && depth < 3 ? 1 + random.nextInt(2) : random.nextInt(4);
    }

    private static Object constant(EnumMetaData meta, Random random) {
        Object[] all = meta.enumClass.getEnumConstants();
        return all[random.nextInt(all.length)];
    }

    private static byte[] binary(Random random) {
        byte[] b = new byte[random.nextInt(20)];
        random.nextBytes(b);
        return b;
    }

    /** Text of one to four bytes a character, with the odd ones among them. */
    private static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int n = random.nextInt(8); n > 0; n--) {
            switch (random.nextInt(5)) {
                case 0:
                    text.append((char) random.nextInt(0x80));
                    break;
                case 1:
                    text.append((char) (0x80 + random.nextInt(0x700)));
                    break;
                case 2:
                    text.append((char) (0x4e00 + random.nextInt(0x5000)));
                    break;
                case 3:
                    text.appendCodePoint(0x1f300 + random.nextInt(0x200));
                    break;
                default:
                    text.append((char) ('a' + random.nextInt(26)));
            }
        }
        return text.toString();
    }
}

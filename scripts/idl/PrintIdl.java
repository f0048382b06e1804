// SPDX-License-Identifier: Apache-2.0

// Prints Storm's Thrift interface, read from the metadata of the generated classes in a storm-client JAR.
//
// Run as a single source file with the JAR and its dependencies on the class path:
//   java -cp 'HOME/lib-worker/*' scripts/idl/PrintIdl.java STORM-CLIENT-JAR
// The order is a function of the names alone, so two runs over one JAR print the same text.

import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarFile;
import org.apache.storm.thrift.TBase;
import org.apache.storm.thrift.TEnum;
import org.apache.storm.thrift.TException;
import org.apache.storm.thrift.TFieldIdEnum;
import org.apache.storm.thrift.TFieldRequirementType;
import org.apache.storm.thrift.TUnion;
import org.apache.storm.thrift.meta_data.EnumMetaData;
import org.apache.storm.thrift.meta_data.FieldMetaData;
import org.apache.storm.thrift.meta_data.FieldValueMetaData;
import org.apache.storm.thrift.meta_data.ListMetaData;
import org.apache.storm.thrift.meta_data.MapMetaData;
import org.apache.storm.thrift.meta_data.SetMetaData;
import org.apache.storm.thrift.meta_data.StructMetaData;
import org.apache.storm.thrift.protocol.TType;

public final class PrintIdl {
    private static final String PACKAGE = "org/apache/storm/generated/";

    private final PrintStream out;
    private final Map<String, Class<?>> enums = new TreeMap<>();
    private final Map<String, Class<?>> structs = new TreeMap<>();
    private final Map<String, Class<?>> services = new TreeMap<>();
    private final Set<String> printed = new LinkedHashSet<>();

    private PrintIdl(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 1) {
            System.err.println("usage: PrintIdl STORM-CLIENT-JAR (with the JAR's dependencies on the class path)");
            System.exit(2);
        }
        PrintIdl printer = new PrintIdl(new PrintStream(System.out, false, StandardCharsets.UTF_8));
        printer.collect(args[0]);
        printer.print();
        printer.out.flush();
    }

    /** Sorts the JAR's generated top-level classes into enums, structs (with unions and exceptions) and services. */
    private void collect(String jar) throws Exception {
        try (JarFile file = new JarFile(jar)) {
            for (String entry : (Iterable<String>) file.stream().map(e -> e.getName())::iterator) {
                if (!entry.startsWith(PACKAGE) || !entry.endsWith(".class") || entry.indexOf('$') >= 0) {
                    continue;
                }
                Class<?> type = Class.forName(entry.substring(0, entry.length() - 6).replace('/', '.'));
                if (TEnum.class.isAssignableFrom(type)) {
                    enums.put(type.getSimpleName(), type);
                } else if (TBase.class.isAssignableFrom(type)) {
                    structs.put(type.getSimpleName(), type);
                } else if (iface(type) != null) {
                    services.put(type.getSimpleName(), type);
                }
            }
        }
        if (structs.isEmpty()) {
            throw new IllegalStateException("no generated Thrift struct in " + jar);
        }
    }

    private void print() throws Exception {
        out.println("// Storm's Thrift interface. Printed by scripts/idl from a storm-client JAR; do not edit.");
        out.println();
        out.println("namespace go storm");
        for (Class<?> type : enums.values()) {
            printEnum(type);
        }
        for (Class<?> type : structs.values()) {
            printStruct(type);
        }
        for (Class<?> type : services.values()) {
            printService(type);
        }
    }

    private void printEnum(Class<?> type) {
        out.println();
        out.println("enum " + type.getSimpleName() + " {");
        for (Object constant : type.getEnumConstants()) {
            out.println("  " + ((Enum<?>) constant).name() + " = " + ((TEnum) constant).getValue() + ",");
        }
        out.println("}");
    }

    /** Prints a struct after every struct that it holds, since Thrift wants a name declared before it is used. */
    private void printStruct(Class<?> type) throws Exception {
        if (!printed.add(type.getSimpleName())) {
            return;
        }
        Map<Integer, FieldMetaData> fields = fields(type);
        for (FieldMetaData field : fields.values()) {
            for (Class<?> used : used(field.valueMetaData, new ArrayList<>())) {
                printStruct(used);
            }
        }
        String kind = "struct";
        if (TUnion.class.isAssignableFrom(type)) {
            kind = "union";
        } else if (TException.class.isAssignableFrom(type)) {
            kind = "exception";
        }
        out.println();
        out.println(kind + " " + type.getSimpleName() + " {");
        TBase<?, ?> fresh = kind.equals("union") ? null : (TBase<?, ?>) type.getDeclaredConstructor().newInstance();
        for (Map.Entry<Integer, FieldMetaData> field : fields.entrySet()) {
            FieldMetaData meta = field.getValue();
            out.println("  " + field.getKey() + ": " + requirement(kind, meta) + typeName(meta.valueMetaData) + " "
                + meta.fieldName + defaultValue(fresh, type, field.getKey()) + ";");
        }
        out.println("}");
    }

    private void printService(Class<?> type) throws Exception {
        out.println();
        out.println("service " + type.getSimpleName() + " {");
        Map<String, Method> methods = new TreeMap<>();
        for (Method method : iface(type).getMethods()) {
            methods.put(method.getName(), method);
        }
        for (String name : methods.keySet()) {
            Class<?> result = nested(type, name + "_result");
            List<String> arguments = new ArrayList<>();
            for (Map.Entry<Integer, FieldMetaData> arg : fields(nested(type, name + "_args")).entrySet()) {
                arguments.add(arg.getKey() + ": " + typeName(arg.getValue().valueMetaData) + " " + arg.getValue().fieldName);
            }
            String returned = "void";
            List<String> thrown = new ArrayList<>();
            if (result == null) {
                returned = "oneway void";
            } else {
                for (Map.Entry<Integer, FieldMetaData> field : fields(result).entrySet()) {
                    String shown = typeName(field.getValue().valueMetaData);
                    if (field.getKey() == 0) {
                        returned = shown;
                    } else {
                        thrown.add(field.getKey() + ": " + shown + " " + field.getValue().fieldName);
                    }
                }
            }
            out.println("  " + returned + " " + name + "(" + String.join(", ", arguments) + ")"
                + (thrown.isEmpty() ? "" : " throws (" + String.join(", ", thrown) + ")") + ",");
        }
        out.println("}");
    }

    private static Class<?> iface(Class<?> type) {
        return nested(type, "Iface");
    }

    private static Class<?> nested(Class<?> type, String name) {
        for (Class<?> inner : type.getDeclaredClasses()) {
            if (inner.getSimpleName().equals(name)) {
                return inner;
            }
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private static Map<Integer, FieldMetaData> fields(Class<?> type) throws Exception {
        Field holder = type.getDeclaredField("metaDataMap");
        if (!Modifier.isStatic(holder.getModifiers())) {
            throw new IllegalStateException("metaDataMap of " + type + " is not static");
        }
        Map<Integer, FieldMetaData> byId = new TreeMap<>();
        for (Map.Entry<?, FieldMetaData> entry : ((Map<?, FieldMetaData>) holder.get(null)).entrySet()) {
            byId.put((int) ((TFieldIdEnum) entry.getKey()).getThriftFieldId(), entry.getValue());
        }
        return byId;
    }

    private static String requirement(String kind, FieldMetaData meta) {
        if (kind.equals("union")) {
            return "";
        }
        switch (meta.requirementType) {
            case TFieldRequirementType.REQUIRED:
                return "required ";
            case TFieldRequirementType.OPTIONAL:
                return "optional ";
            default:
                return "";
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static String defaultValue(TBase fresh, Class<?> type, int id) throws Exception {
        if (fresh == null) {
            return "";
        }
        TFieldIdEnum key = fresh.fieldForId(id);
        if (!fresh.isSet(key)) {
            return "";
        }
        Object value = fresh.getFieldValue(key);
        if (value instanceof Boolean || value instanceof Number) {
            return " = " + value;
        }
        if (value instanceof String) {
            return " = \"" + value + "\"";
        }
        if (value instanceof Map && ((Map<?, ?>) value).isEmpty()) {
            return " = {}";
        }
        if (value instanceof Collection && ((Collection<?>) value).isEmpty()) {
            return " = []";
        }
        throw new IllegalStateException("no way to print the default of field " + id + " of " + type + ": " + value);
    }

    private static List<Class<?>> used(FieldValueMetaData meta, List<Class<?>> into) {
        if (meta instanceof StructMetaData) {
            into.add(((StructMetaData) meta).structClass);
        } else if (meta instanceof ListMetaData) {
            used(((ListMetaData) meta).elemMetaData, into);
        } else if (meta instanceof SetMetaData) {
            used(((SetMetaData) meta).elemMetaData, into);
        } else if (meta instanceof MapMetaData) {
            used(((MapMetaData) meta).keyMetaData, into);
            used(((MapMetaData) meta).valueMetaData, into);
        }
        return into;
    }

    private static String typeName(FieldValueMetaData meta) {
        if (meta instanceof StructMetaData) {
            return ((StructMetaData) meta).structClass.getSimpleName();
        }
        if (meta instanceof EnumMetaData) {
            return ((EnumMetaData) meta).enumClass.getSimpleName();
        }
        if (meta instanceof ListMetaData) {
            return "list<" + typeName(((ListMetaData) meta).elemMetaData) + ">";
        }
        if (meta instanceof SetMetaData) {
            return "set<" + typeName(((SetMetaData) meta).elemMetaData) + ">";
        }
        if (meta instanceof MapMetaData) {
            return "map<" + typeName(((MapMetaData) meta).keyMetaData) + ", " + typeName(((MapMetaData) meta).valueMetaData) + ">";
        }
        switch (meta.type) {
            case TType.BOOL:
                return "bool";
            case TType.BYTE:
                return "byte";
            case TType.I16:
                return "i16";
            case TType.I32:
                return "i32";
            case TType.I64:
                return "i64";
            case TType.DOUBLE:
                return "double";
            case TType.STRING:
                return meta.isBinary() ? "binary" : "string";
            default:
                throw new IllegalStateException("no IDL name for Thrift type " + meta.type);
        }
    }
}

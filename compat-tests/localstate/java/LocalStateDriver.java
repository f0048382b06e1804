// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.generated.ExecutorInfo;
import org.apache.storm.generated.LSWorkerHeartbeat;
import org.apache.storm.generated.LocalAssignment;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.utils.LocalState;

/** Answers "read DIR" with the records there, and does "write DIR TAG". Fields are separated by tabs. */
public class LocalStateDriver {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split("\t");
            String answer;
            try {
                answer = f[0].equals("read") ? read(f[1]) : write(f[1], f[2]);
            } catch (Exception e) {
                answer = "error " + e;
            }
            System.out.println(answer.replace('\n', ' '));
        }
    }

    private static String read(String dir) throws Exception {
        LocalState state = new LocalState(dir, false);
        StringBuilder out = new StringBuilder("id=" + state.getSupervisorId());
        Map<String, Integer> workers = state.getApprovedWorkers();
        out.append(" workers=").append(workers == null ? null : new TreeMap<>(workers));
        Map<Integer, LocalAssignment> assignments = state.getLocalAssignmentsMap();
        out.append(" assignments=");
        if (assignments != null) {
            for (Map.Entry<Integer, LocalAssignment> e : new TreeMap<>(assignments).entrySet()) {
                LocalAssignment a = e.getValue();
                out.append('[').append(e.getKey()).append(' ').append(a.get_topology_id());
                for (ExecutorInfo x : a.get_executors()) {
                    out.append(' ').append(x.get_task_start()).append('-').append(x.get_task_end());
                }
                out.append(" heap=").append(a.is_set_resources() ? a.get_resources().get_mem_on_heap() : null);
                out.append(" owner=").append(a.get_owner()).append(']');
            }
        }
        LSWorkerHeartbeat beat = state.getWorkerHeartBeat();
        out.append(" beat=").append(beat == null ? null : beat.get_topology_id() + "@" + beat.get_time_secs() + ":" + beat.get_port());
        return out.toString();
    }

    private static String write(String dir, String tag) throws Exception {
        LocalState state = new LocalState(dir, true);
        state.setSupervisorId("java-" + tag);
        Map<String, Integer> workers = state.getApprovedWorkers();
        workers = workers == null ? new TreeMap<>() : workers;
        workers.put("java-" + tag, 6799);
        state.setApprovedWorkers(workers);
        List<ExecutorInfo> executors = new ArrayList<>();
        executors.add(new ExecutorInfo(4, 9));
        LocalAssignment a = new LocalAssignment("java-" + tag, executors);
        WorkerResources r = new WorkerResources();
        r.set_mem_on_heap(256.5);
        a.set_resources(r);
        a.set_owner("ünal");
        Map<Integer, LocalAssignment> assignments = state.getLocalAssignmentsMap();
        assignments = assignments == null ? new TreeMap<>() : assignments;
        assignments.put(6799, a);
        state.setLocalAssignmentsMap(assignments);
        LSWorkerHeartbeat beat = new LSWorkerHeartbeat(1700000000, "java-" + tag, executors, 6799);
        state.setWorkerHeartBeat(beat);
        return "ok";
    }
}

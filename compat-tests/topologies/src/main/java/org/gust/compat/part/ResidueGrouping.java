// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/** A grouping of the user's own: the first value modulo the number of tasks. */
public final class ResidueGrouping implements CustomStreamGrouping {
    private transient List<Integer> tasks;

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
        tasks = new ArrayList<>(targetTasks);
        Collections.sort(tasks);
    }

    @Override
    public List<Integer> chooseTasks(int taskId, List<Object> values) {
        return List.of(tasks.get((Integer) values.get(0) % tasks.size()));
    }
}

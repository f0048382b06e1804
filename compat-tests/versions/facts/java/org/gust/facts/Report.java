// SPDX-License-Identifier: Apache-2.0

package org.gust.facts;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.Utils;
import org.apache.storm.utils.VersionInfo;

/**
 * A task hook that tells what the worker around it is: each task writes {@code facts.out}/PID-TASK, lines of name, tab and value.
 * {@code facts.resource}, if set, names something that is looked up on the class path.
 */
public final class Report extends BaseTaskHook {
    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("java", Runtime.version().feature());
        facts.put("home", System.getProperty("java.home"));
        facts.put("storm", VersionInfo.getVersion());
        // What the worker's own code reads this key from.
        Object refresh = Utils.readStormConfig().get("task.refresh.poll.secs");
        facts.put("refresh", refresh);
        Object resource = conf.get("facts.resource");
        if (resource != null) {
            facts.put("resource", Report.class.getClassLoader().getResource(resource.toString()));
        }
        StringBuilder text = new StringBuilder();
        facts.forEach((name, value) -> text.append(name).append('\t').append(value).append('\n'));
        try {
            Path folder = Files.createDirectories(Path.of(conf.get("facts.out").toString()));
            String name = ProcessHandle.current().pid() + "-" + context.getThisTaskId();
            // Beside the file and renamed, so that nobody reads half of it.
            Path fresh = Files.write(folder.resolve("." + name), text.toString().getBytes(StandardCharsets.UTF_8));
            Files.move(fresh, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

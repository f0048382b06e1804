// SPDX-License-Identifier: Apache-2.0

package multilang

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShell(t *testing.T) {
	t.Parallel()
	// Reads the handshake, answers with its pid and acks each tuple, all in the shell.
	script := `read -r hello; read -r end; echo "{\"pid\":$$}"; echo end
while read -r line; do
  read -r end
  case $line in *__heartbeat*) printf '{"command":"sync"}\nend\n';;
  *) id=${line#*\"id\":\"}; id=${id%%\"*}; printf '{"command":"emit","tuple":["%s"],"need_task_ids":false,"anchors":["%s"]}\nend\n{"command":"ack","id":"%s"}\nend\n' "$id" "$id" "$id";;
  esac
done`
	b := startBolt(t, Settings{}, "sh", "-c", script)
	sent := b.deliver("x", "y", "z")
	b.until("acks", func() bool { return len(b.acked) == 3 })
	if diff := cmp.Diff(sent, b.acked); diff != "" {
		t.Error(diff)
	}
	if len(b.emits) != 3 || b.emits[1].Anchors[0] != sent[1] {
		t.Errorf("%v", b.emits)
	}
}

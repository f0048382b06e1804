// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file runs the scripts of storm.health.check.dir.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// ErrUnhealthy is why Run ends after a health check script has found a fault in the machine.
var ErrUnhealthy = errors.New("machine is not healthy")

// maxHealthOutput bounds what is logged of a script's output, in bytes.
const maxHealthOutput = 4 << 10

func healthDir(dir, stormHome string) string {
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(stormHome, dir)
}

// watch runs the scripts again and again until one finds a fault; it then returns an error that wraps ErrUnhealthy.
func (h Health) watch(ctx context.Context, logger *zap.Logger) error {
	if h.Dir == "" {
		return nil
	}
	ticker := time.NewTicker(h.Every)
	defer ticker.Stop()
	for {
		if err := h.check(ctx, logger); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// check runs every script once.
func (h Health) check(ctx context.Context, logger *zap.Logger) error {
	entries, err := os.ReadDir(h.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Storm's default names a folder that need not be there
	}
	if err != nil {
		logger.Warn("health check scripts cannot be listed", zap.Error(err))
		return nil
	}
	for _, entry := range entries {
		info, err := os.Stat(filepath.Join(h.Dir, entry.Name()))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		if err := h.run(ctx, filepath.Join(h.Dir, entry.Name()), logger); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (h Health) run(ctx context.Context, script string, logger *zap.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	var output head
	cmd := exec.CommandContext(ctx, script)
	cmd.Stdout, cmd.Stderr = &output, &output
	// Its children go with it, and hold our reading of its output no longer than a moment.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	logger.Warn("health check script found a fault", zap.String("script", script), zap.Error(err), zap.ByteString("output", output))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !h.FailOnTimeout {
		return nil
	}
	return fmt.Errorf("health check %s: %w: %w", script, ErrUnhealthy, err)
}

// head keeps the beginning of what is written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), maxHealthOutput-len(*h))]...)
	return len(p), nil
}

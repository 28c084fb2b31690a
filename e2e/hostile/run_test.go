package hostile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// tooLong is when a command counts as hanging. Git is given 2 s where it is asked about
	// a worktree and 10 s about commits, and the machine may be busy.
	tooLong = 20 * time.Second
	// tooMuch is the limit of a process's memory, with that of git, in KiB.
	tooMuch = 256 << 10
	// enough is when bossman work is interrupted, twice: it waits for a board that cannot be used
	// now.
	enough = 5 * time.Second
)

// run runs a command in the place, at a terminal, and says what is wrong about it.
func (p *place) run(argv ...string) (out string, faults []string) {
	cmd := p.command(p.dir, append([]string{bossman}, argv...)...)
	out, err := atTerminal(cmd)
	if err != nil {
		faults = append(faults, err.Error())
	}
	return out, append(faults, p.faults(cmd, out)...)
}

// faults says what is wrong after a process has ended.
func (p *place) faults(cmd *exec.Cmd, out string) (faults []string) {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil && own.Maxrss > tooMuch/2 {
		p.t.Fatalf("the test itself took %d MiB, which count for what it starts", own.Maxrss>>10)
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && use.Maxrss > tooMuch {
		faults = append(faults, fmt.Sprintf("it took %d MiB", use.Maxrss>>10))
	}
	if raw := rawControl(out); raw != "" {
		faults = append(faults, "raw characters reached the terminal: "+raw)
	}
	if shows(out) {
		faults = append(faults, "it shows what is somebody else's")
	}
	if strings.Contains(out, "panic:") || strings.Contains(out, "goroutine ") {
		faults = append(faults, "it panicked")
	}
	if touched := p.touched(); touched != "" {
		faults = append(faults, touched)
	}
	return faults
}

// atTerminal runs cmd with a terminal for its output, and returns what reached that. The
// error says that it had to be killed.
func atTerminal(cmd *exec.Cmd) (string, error) {
	terminal, slave, err := openTerminal()
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	cmd.Stdout, cmd.Stderr = slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		slave.Close()
		return "", err
	}
	slave.Close()
	if slices.Contains(cmd.Args, "work") {
		for n := range 2 {
			interrupt := time.AfterFunc(enough+time.Duration(n)*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) })
			defer interrupt.Stop()
		}
	}
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(&out, io.LimitReader(terminal, 64<<20)) // EIO at the end
		close(read)
	}()
	return finish(cmd, &out, read, tooLong)
}

// finish waits for the end of a process whose output is read until read is closed. What it
// started is killed with it.
func finish(cmd *exec.Cmd, out *bytes.Buffer, read <-chan struct{}, limit time.Duration) (string, error) {
	var late bool
	kill := time.AfterFunc(limit, func() {
		late = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT)
		time.AfterFunc(time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	})
	_ = cmd.Wait()
	hung := !kill.Stop() && late
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-read:
	case <-time.After(2 * time.Second):
		return "", fmt.Errorf("its output stayed open after its end")
	}
	if hung {
		text := out.String()
		return "", fmt.Errorf("it did not end within %v:\n%s", limit, text[:min(len(text), 6000)])
	}
	return out.String(), nil
}

// openTerminal makes a pseudo-terminal of 100 columns.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 100}); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

// progress is how a command that waits for something writes over a line, and bossman work over its
// display.
var progress = regexp.MustCompile(`\r\x1b\[K|\x1b\[\d+A\r\x1b\[J`)

// rawControl returns the first control or bidirectional character of what reached a
// terminal, with what is around it.
func rawControl(out string) string {
	out = progress.ReplaceAllString(out, "")
	for i := 0; i < len(out); {
		c, n := utf8.DecodeRuneInString(out[i:])
		bad := c == utf8.RuneError && n == 1 || unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' ||
			c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c >= 0xe0000 && c <= 0xe007f
		if bad {
			return fmt.Sprintf("%q", out[max(0, i-60):min(len(out), i+60)])
		}
		i += n
	}
	return ""
}

//go:build linux && amd64

package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// chain is a program that forks and exits, and so does its child, until nobody reads its standard
// output any more. A program with a runtime would take so long for a fork that it is easily found.
// call is a system call that each process makes.
func chain(call byte) []byte {
	code := []byte{
		0xb8, 57, 0, 0, 0, // mov eax, fork
		0x0f, 0x05, // syscall
		0x85, 0xc0, // test eax, eax
		0x75, 30, // jnz exit
		0xb8, call, 0, 0, 0, // mov eax, call
		0x0f, 0x05, // syscall
		0xb8, 1, 0, 0, 0, // mov eax, write
		0x89, 0xc7, // mov edi, eax: standard output
		0x48, 0x8d, 0x35, 0, 0, 0, 0, // lea rsi, [rip]: anything
		0x89, 0xc2, // mov edx, eax: one byte
		0x0f, 0x05, // syscall
		0x83, 0xf8, 0xe0, // cmp eax, -EPIPE
		0x75, 0xd7, // jne to the beginning
		0xb8, 60, 0, 0, 0, // exit: mov eax, exit
		0x31, 0xff, // xor edi, edi
		0x0f, 0x05, // syscall
	}
	const base, header = 0x400000, 64 + 56
	size := uint64(header + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), uint64(base + header), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096), // one segment
	} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.Write(code)
	return b.Bytes()
}

// TestMind_chain: processes that fork and exit all the time, without a marker, do not outlive the one
// that was minded.
func TestMind_chain(t *testing.T) {
	for mode, call := range map[string]byte{"group": syscall.SYS_GETPID, "session": syscall.SYS_SETSID} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "chain")
			if err := os.WriteFile(path, chain(call), 0o700); err != nil {
				t.Fatal(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := syscall.SetNonblock(int(w.Fd()), true); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", "trap '' TERM PIPE; exec env -i "+path)
			cmd.Stdout = w
			m, err := Mind(cmd, []string{os.Args[0], "minder"}, "test", 10*time.Millisecond)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			end := m.Wait()
			// The pipe ends with the last process that has it. If some are left, the minder goes on.
			patience := time.Second
			if end.Left > 0 {
				patience = time.Minute
			}
			if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Wait = %+v, and it still runs", end)
			}
		})
	}
}

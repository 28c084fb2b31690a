package boardcli

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"strings"
	"testing"
)

// unpack returns the lines of a file.
func unpack(file []byte) (text []byte, torn bool, err error) {
	file, torn, err = wholeParts(file)
	if err != nil {
		return nil, torn, err
	}
	for line, err := range unpackLines(file) {
		if err != nil {
			return text, torn, err
		}
		text = append(append(text, line...), '\n')
	}
	return text, torn, nil
}

func TestUnpack_plain(t *testing.T) {
	if got, torn, err := unpack([]byte("one\n")); string(got) != "one\n" || torn || err != nil {
		t.Errorf("Unpack = %q, %v, %v", got, torn, err)
	}
	spoilt := zipped(t, "one\n", 1)
	spoilt[len(spoilt)-5] ^= 1
	if _, _, err := unpack(spoilt); err == nil {
		t.Error("a file with a wrong checksum unpacks")
	}
}

// TestUnpack_small: what a small file unpacks to is not in memory at once.
func TestUnpack_small(t *testing.T) {
	const size = 64 << 20
	file := zipped(t, strings.Repeat("\n", 1<<20), size>>20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	whole, _, err := wholeParts(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range unpackLines(whole) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; n != size || used > size/16 {
		t.Errorf("%d lines took %d MiB, want %d lines in few", n, used>>20, size)
	}

	_, _, err = unpack(zipped(t, strings.Repeat("a", 1<<20), 64))
	if err == nil || !strings.Contains(err.Error(), "line 1 is over 8 MiB") {
		t.Errorf("a line of 64 MiB: %v", err)
	}
	_, _, err = wholeParts(bytes.Repeat(file, maxUnpacked/size+1))
	if err == nil || !strings.Contains(err.Error(), "it unpacks to over 2 GiB") {
		t.Errorf("more than 2 GiB in several parts: %v", err)
	}
}

// zipped compresses a text that is repeated.
func zipped(t *testing.T, text string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for range times {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

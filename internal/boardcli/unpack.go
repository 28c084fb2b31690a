package boardcli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

const (
	// maxUnpacked bounds what a compressed file unpacks to.
	maxUnpacked = 2 << 30
	// maxLine bounds a line of an export: several times what the longest texts of a task take.
	maxLine = 8 << 20
)

// ReadArchive returns the lines of an export or an archive, which may be compressed. A line is valid
// until the next one is read: what a small file unpacks to may be more than fits in memory.
func ReadArchive(out *console.Console, name string, file []byte) (iter.Seq2[[]byte, error], error) {
	file, torn, err := wholeParts(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if torn {
		out.Infof("The end of %s is missing, and left out: those tasks never left their board.", name)
	}
	return unpackLines(file), nil
}

// ReadSource reads the first of the lines of an export.
func ReadSource(lines iter.Seq2[[]byte, error]) (board.Source, error) {
	for line, err := range lines {
		if err != nil {
			return board.Source{}, err
		}
		return board.ReadSource(line)
	}
	return board.ReadSource(nil)
}

// isZip reports whether a file is compressed.
func isZip(file []byte) bool { return bytes.HasPrefix(file, []byte{0x1f, 0x8b}) }

// wholeParts returns a file without its last part, and sets torn, if the end of that is missing: it
// was never saved, so what it has is on the board. A file that is not compressed is one part.
func wholeParts(file []byte) (whole []byte, torn bool, err error) {
	if !isZip(file) {
		return file, false, nil
	}
	in := bytes.NewReader(file)
	var zip *gzip.Reader
	for left := int64(maxUnpacked); in.Len() > 0; {
		whole = file[:len(file)-in.Len()]
		if zip == nil {
			zip, err = gzip.NewReader(in)
		} else {
			err = zip.Reset(in)
		}
		if err == nil {
			zip.Multistream(false)
			var n int64
			n, err = io.Copy(io.Discard, io.LimitReader(zip, left+1))
			left -= n
		}
		switch {
		case err == nil && left < 0:
			return nil, false, fmt.Errorf("it unpacks to over %d GiB", maxUnpacked>>30)
		case len(whole) > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
			return whole, true, nil
		case err != nil:
			return nil, false, fmt.Errorf("unpack: %w", err)
		}
	}
	return file, false, nil
}

// unpackLines yields the lines of a file that has all its parts, without their ends.
func unpackLines(file []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var in io.Reader = bytes.NewReader(file)
		if isZip(file) {
			zip, err := gzip.NewReader(in)
			if err != nil {
				yield(nil, fmt.Errorf("unpack: %w", err))
				return
			}
			in = zip
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		n := 0
		for ; lines.Scan(); n++ {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, fmt.Errorf("line %d is over %d MiB; no export of Bossman has such a line", n+1, maxLine>>20))
		case err != nil:
			yield(nil, fmt.Errorf("unpack: %w", err))
		}
	}
}

package bare

import (
	"bufio"
	"errors"
	"io"
)

// Stdio answers one message a line until in ends. Answers leave when no further
// message is waiting, so a burst of requests is one write.
func Stdio(in io.Reader, out io.Writer, v Variant) error {
	server, err := v.replier()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(in, 256<<10)
	w := bufio.NewWriterSize(out, 256<<10)
	var long, buf []byte
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = long[:0]
			for errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, line...)
				line, err = r.ReadSlice('\n')
			}
			long = append(long, line...)
			line = long
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		answer, ok := server.reply(buf[:0], line)
		if ok {
			buf = append(answer, '\n')
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

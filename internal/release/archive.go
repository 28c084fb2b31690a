package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"os"
	"path"
)

// A file of an archive or a package.
type file struct {
	name string // with slashes
	text []byte
	mode os.FileMode
}

// load reads a file of this disk.
func load(name, path string, mode os.FileMode) (file, error) {
	text, err := os.ReadFile(path)
	return file{name, text, mode}, err
}

// writeTar writes files, below a directory, to a compressed archive.
func (r *release) writeTar(to, dir string, files []file) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.name), Mode: int64(f.mode), Size: int64(len(f.text)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

// writeZip writes files, below a directory if it is not empty, to a zip file.
func (r *release) writeZip(to, dir string, files []file) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := zip.NewWriter(out)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(dir, f.name), Method: zip.Deflate, Modified: r.time}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.text); err != nil {
			return err
		}
	}
	return w.Close()
}

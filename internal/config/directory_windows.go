package config

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// directoryID identifies a directory, by its number, which on NTFS counts how often it was used.
// The time when it was made can be set. It is empty if there is none.
func directoryID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info) != nil {
		return ""
	}
	return fmt.Sprintf("file %d", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow))
}

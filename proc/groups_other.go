//go:build !unix

package proc

import "errors"

func runGroups(string) error { return errors.ErrUnsupported }

func (l *groupList) end(bool) int { return 0 }

func groupRuns(int) bool { return false }

func startTimeOf(int) string { return "" }

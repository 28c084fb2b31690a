//go:build !unix

package check

// tryLock bounds nothing here: only the checks of one process are counted.
func tryLock(string) (unlock func(), ok bool, err error) { return func() {}, true, nil }

package remote

import "context"

// maxRows bounds a list, and maxAnswer about how many bytes of it are in one answer: what others wrote may be long, and many
// may ask at once. The first part of a list that a server reads has firstRows, and the following more, up to mostRows.
const (
	maxRows   = 1000
	maxAnswer = 1 << 20
	firstRows = 16
	mostRows  = 64
)

func boundedRows(limit int) int {
	if limit <= 0 || limit > maxRows {
		return maxRows
	}
	return limit
}

// rows reads a list of at most limit rows in parts, with next, which gets the last row so far, nil at first. If the answer is
// long enough, c.more is set, and the laptop asks for the rest.
func rows[T any](c *call, limit int, next func(last *T, n int) ([]T, error)) (list []T, err error) {
	limit = boundedRows(limit)
	size := 0
	var last *T
	for n := firstRows; len(list) < limit; n = min(2*n, mostRows) {
		n = min(n, limit-len(list))
		part, err := next(last, n)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
		if len(part) < n {
			break
		}
		last = &list[len(list)-1]
		more, err := bytesOf(part)
		if err != nil {
			return nil, err
		}
		if size += more; size >= maxAnswer && len(list) < limit {
			c.more = true
			break
		}
	}
	return list, nil
}

// bytesOf returns about how many bytes of an answer some rows are.
func bytesOf[T any](list []T) (size int, err error) {
	for i := range list {
		text, err := marshal(&list[i])
		if err != nil {
			return 0, err
		}
		size += len(text)
	}
	return size, nil
}

// fetchRows asks the server for a list of at most limit rows, as often as it has more. in gets the last row so far, nil at first.
func fetchRows[In, T any](ctx context.Context, b *Board, o operation[In, []T], limit int, in func(last *T, n int) In) (list []T, err error) {
	limit = boundedRows(limit)
	var last *T
	for {
		part, more, err := o.fetchPart(ctx, b, nil, in(last, limit-len(list)))
		if err != nil {
			return nil, err
		}
		if list = append(list, part...); !more || len(part) == 0 || len(list) >= limit {
			return list, nil
		}
		last = &list[len(list)-1]
	}
}

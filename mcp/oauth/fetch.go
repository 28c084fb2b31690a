package oauth

import (
	"context"
	"fmt"
	"io"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/egress"
)

// maxDocument is the maximum size of a response.
const maxDocument = 64 << 10

// A fetcher reads JSON from URLs that servers name.
type fetcher struct{ *egress.Client }

// do sends a request and decodes the JSON response into v. A status other than
// success is a *statusError.
func (f fetcher) do(r *http.Request, v any) (http.Header, error) {
	r.Header.Set("Accept", "application/json")
	res, err := f.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxDocument:
		return nil, fmt.Errorf("oauth: %s: the response is larger than %d bytes", r.URL.Redacted(), maxDocument)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return res.Header, &statusError{r.URL.Redacted(), res.StatusCode, body}
	}
	if err := jsonv2.Unmarshal(body, v); err != nil {
		return res.Header, fmt.Errorf("oauth: %s: the response is not valid JSON", r.URL.Redacted())
	}
	return res.Header, nil
}

func (f fetcher) get(ctx context.Context, address string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return f.Forbid(address)
	}
	_, err = f.do(r, v)
	return err
}

type statusError struct {
	url  string
	code int
	body []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("oauth: %s: status %d", e.url, e.code) }

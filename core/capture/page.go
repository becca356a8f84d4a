package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A capture may stand within an HTML page, on the lines between these two. Browsers neither show nor run it.
const (
	PageBegin = `<script type="application/x-ndjson" id="kx-capture">`
	PageEnd   = `</script>`
)

// InPage returns where a Writer writes a capture that stands within a page. Nothing in it ends the element that it is
// in.
func InPage(w io.Writer) io.Writer { return inert{w} }

// inert escapes what HTML has a meaning for. In JSON that stands within strings only.
type inert struct{ to io.Writer }

func (p inert) Write(line []byte) (int, error) {
	escaped := line
	for _, c := range []byte("<>&") {
		escaped = bytes.ReplaceAll(escaped, []byte{c}, fmt.Appendf(nil, `\u%04x`, c))
	}
	if _, err := p.to.Write(escaped); err != nil {
		return 0, err
	}
	return len(line), nil
}

var errPage = errors.New("this page holds no capture: kx trace export -o html writes one that does")

// enterPage goes to the capture within a page, if the stream begins as one.
func (r *Reader) enterPage() error {
	for r.lines.Scan() {
		r.line++
		line := bytes.TrimSpace(r.lines.Bytes())
		if string(line) == PageBegin {
			r.page = true
			return nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return fmt.Errorf("line %d of the page: %w", r.line+1, tooLong(err))
	}
	return errPage
}

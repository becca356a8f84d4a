package capture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// version is the version of the format that this package writes, and the latest that it reads.
const version = 1

// LineMost limits the length of a line. A recorded journey has at most a mebibyte, and JSON escapes make it longer.
const LineMost = 16 << 20

// kind tells a capture from other lines of JSON.
const kind = "KxCapture"

// Header is the first line of a capture.
type Header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Saved   time.Time `json:"saved"`
	// Server is the server whose journeys these are.
	Server string `json:"server,omitempty"`
}

// Writer writes a capture. The sentence of a reason stands in the first journey with that reason.
type Writer struct {
	lines     *json.Encoder
	sentences map[string]v1alpha1.Sentence // those written last, by kind
}

// NewWriter begins a capture.
func NewWriter(w io.Writer, server string, saved time.Time) (*Writer, error) {
	lines := json.NewEncoder(visible{w})
	lines.SetEscapeHTML(false)
	if err := lines.Encode(Header{Kind: kind, Version: version, Saved: saved.UTC(), Server: server}); err != nil {
		return nil, fmt.Errorf("write the capture: %w", err)
	}
	return &Writer{lines, map[string]v1alpha1.Sentence{}}, nil
}

// visible escapes lines, so that a printed file can't control the terminal. Each write is a whole line.
type visible struct{ to io.Writer }

func (v visible) Write(line []byte) (int, error) {
	if _, err := v.to.Write(escape.JSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Write adds a journey.
func (w *Writer) Write(j *v1alpha1.Journey) error {
	written := *j
	written.Status.Sentences = nil
	for _, s := range j.Status.Sentences {
		if w.sentences[s.Kind] != s {
			w.sentences[s.Kind] = s
			written.Status.Sentences = append(written.Status.Sentences, s)
		}
	}
	if err := w.lines.Encode(&written); err != nil {
		return fmt.Errorf("write journey %s: %w", j.Name, err)
	}
	return nil
}

// Reader reads a capture.
type Reader struct {
	Header Header

	lines *bufio.Scanner
	line  int
	// sentences holds the sentence of each kind that was read last.
	sentences map[string]v1alpha1.Sentence

	page  bool // the capture stands within a page
	ended bool // the page's capture was read to its end
}

// NewReader reads the beginning of a capture, or of a page to the beginning of its capture.
func NewReader(r io.Reader) (*Reader, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, LineMost)
	reader := &Reader{lines: lines, sentences: map[string]v1alpha1.Sentence{}}
	if err := reader.next(&reader.Header); err != nil {
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("the capture is empty")
		case bytes.HasPrefix(lines.Bytes(), gzipped):
			return nil, errors.New("the capture is compressed: unpack it with gunzip")
		}
		return nil, err
	}
	switch {
	case reader.Header.Kind != kind:
		return nil, fmt.Errorf("this is no capture: its first line does not say it is a %s", kind)
	case reader.Header.Version > version:
		return nil, fmt.Errorf("the capture has version %d, and this kx reads versions up to %d: use a later kx", reader.Header.Version,
			version)
	case reader.Header.Version < 1:
		return nil, fmt.Errorf("the capture has version %d, which there never was", reader.Header.Version)
	}
	return reader, nil
}

// gzipped begins a file that gzip wrote.
var gzipped = []byte{0x1f, 0x8b}

// Next is the next journey, or io.EOF.
func (r *Reader) Next() (*v1alpha1.Journey, error) {
	j := &v1alpha1.Journey{}
	if err := r.next(j); err != nil {
		return nil, err
	}
	if j.Name == "" {
		return nil, fmt.Errorf("line %d of the capture is no journey: it has no name", r.line)
	}
	if err := check(j); err != nil {
		return nil, fmt.Errorf("line %d of the capture: %w", r.line, err)
	}
	for _, s := range j.Status.Sentences {
		if _, known := r.sentences[s.Kind]; known || len(r.sentences) < sentencesMost {
			r.sentences[s.Kind] = s
		}
	}
	j.Complete(func(kind string) (v1alpha1.Sentence, bool) {
		s, ok := r.sentences[kind]
		return s, ok
	})
	return j, nil
}

func (r *Reader) next(into any) error {
	for !r.ended && r.lines.Scan() {
		r.line++
		line := bytes.TrimSpace(r.lines.Bytes())
		switch {
		case len(line) == 0:
			continue
		case line[0] == '<' && into == any(&r.Header) && !r.page:
			if err := r.enterPage(); err != nil {
				return err
			}
			continue
		case r.page && string(line) == PageEnd:
			r.ended = true
			return io.EOF
		}
		err := refuseLongLists(line)
		if err == nil {
			err = json.Unmarshal(line, into)
		}
		switch {
		case err == nil:
			return nil
		case cutOff(line):
			return fmt.Errorf("the capture is cut off within line %d: "+
				"it was not written or copied to its end; what comes before is good, and kx trace show --file shows it", r.line)
		}
		return fmt.Errorf("line %d of the capture: %w", r.line, err)
	}
	if err := r.lines.Err(); err != nil {
		return fmt.Errorf("line %d of the capture: %w", r.line+1, tooLong(err))
	}
	if r.page && !r.ended {
		return fmt.Errorf("the page is cut off behind line %d, within its capture; what comes before is good", r.line)
	}
	return io.EOF
}

// tooLong is an error of the scanner in words for users.
func tooLong(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("it has more than %d MiB, and no journey has", LineMost>>20)
	}
	return err
}

// cutOff says whether a line ends before its JSON does.
func cutOff(line []byte) bool {
	return errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(new(json.RawMessage)), io.ErrUnexpectedEOF)
}

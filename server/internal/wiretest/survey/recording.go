package survey

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Ending is that of the files with recordings.
const Ending = ".jsonl.gz"

// Recording is what a server has answered about one resource: a file of lines, the first of which has the objects.
type Recording struct {
	Documents
	Records []Record
}

// Cases are those that the recording answers.
func (r Recording) Cases() []Case {
	cases := make([]Case, len(r.Records))
	for i := range r.Records {
		cases[i] = r.Records[i].Case
	}
	return cases
}

// File is where the recording of a source is.
func File(dir string, s Source) string {
	return filepath.Join(dir, filepath.FromSlash(s.String())+Ending)
}

// Write writes a recording. The same recording is the same file.
func (r Recording) Write(file string) error {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	fmt.Fprintf(zip, "%s\n", render(r.Documents))
	for _, record := range r.Records {
		fmt.Fprintf(zip, "%s\n", render(record))
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// Read reads a recording.
func Read(file string) (Recording, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Recording{}, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return Recording{}, fmt.Errorf("%s: %w", file, err)
	}
	var r Recording
	decoder := json.NewDecoder(bufio.NewReader(zip))
	decoder.UseNumber()
	if err := decoder.Decode(&r.Documents); err != nil {
		return Recording{}, fmt.Errorf("%s: %w", file, err)
	}
	for decoder.More() {
		var record Record
		if err := decoder.Decode(&record); err != nil {
			return Recording{}, fmt.Errorf("%s: %w", file, err)
		}
		if record.Via == Table && record.Answer.Object != nil {
			record.Answer.Object = withoutAges(record.Answer.Object)
		}
		r.Records = append(r.Records, record)
	}
	return r, nil
}

// Stale says whether the objects have changed since they were recorded.
func (r Recording) Stale(d Documents) bool { return !bytes.Equal(render(r.Documents), render(d)) }

package documents

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Ending is that of the files with recordings: a line of JSON for each answer.
const Ending = ".jsonl.zst"

// window is how far back the compression looks. Documents repeat each other's definitions, megabytes apart.
const window = 32 << 20

// Write writes a recording. The same recording is the same file.
func Write(file string, answers []Answer) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	lines := json.NewEncoder(zip)
	lines.SetEscapeHTML(false)
	for _, a := range answers {
		if err := lines.Encode(a); err != nil {
			return err
		}
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return f.Close()
}

// Read gives each answer of a recording to take. It has one of them in memory at a time.
func Read(file string, take func(Answer) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := zstd.NewReader(bufio.NewReader(f), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer zip.Close()
	lines := json.NewDecoder(zip)
	lines.UseNumber()
	for {
		var a Answer
		switch err := lines.Decode(&a); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := take(a); err != nil {
			return err
		}
	}
}

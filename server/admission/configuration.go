package admission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"

	"github.com/kx-apiserver/kx/core/lines"
)

// document holds the configuration of one plugin.
type document struct {
	// source locates the document, for errors.
	source string
	data   []byte
	lines  lines.Document
}

// readConfiguration returns the documents of plugins by their names. It is nil without a file.
func readConfiguration(file string) (map[string]document, error) {
	if file == "" {
		return nil, nil
	}
	bad := func(err error) (map[string]document, error) {
		return nil, fmt.Errorf("--admission-control-config-file: %w", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return bad(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	at := lines.NewDocument(data)
	wrong := func(err error) (map[string]document, error) { return bad(fmt.Errorf("%s: %w", file, at.Error(err))) }
	decoded, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return wrong(err)
	}
	config, ok := decoded.(*apiserver.AdmissionConfiguration)
	if !ok {
		return wrong(fmt.Errorf("kind: this is a %T; it must be an AdmissionConfiguration", decoded))
	}
	documents := map[string]document{}
	for i, one := range config.Plugins {
		field := fmt.Sprintf("plugins[%d]", i)
		_, twice := documents[one.Name]
		switch {
		case !slices.Contains(Names(), one.Name) && !slices.Contains(missing, one.Name):
			return wrong(fmt.Errorf("%s.name: there is no plugin %q", field, one.Name))
		case twice:
			return wrong(fmt.Errorf("%s.name: %s is there already", field, one.Name))
		case (one.Configuration != nil || one.Path != "") && !slices.Contains(Configurable(), one.Name):
			return wrong(fmt.Errorf("%s: kx does not configure %s, and would do without what it says: leave it out; kx configures %s",
				field, one.Name, strings.Join(Configurable(), ", ")))
		case one.Configuration != nil:
			documents[one.Name] = document{file + ": " + field + ".configuration", one.Configuration.Raw, at.In(field + ".configuration")}
		case one.Path != "":
			path := one.Path
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return wrong(fmt.Errorf("%s.path: %w", field, err))
			}
			documents[one.Name] = document{path, data, lines.NewDocument(data)}
		}
	}
	return documents, nil
}

package object

import (
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// encoding is what an encoder writes.
type encoding struct {
	form encodedForm
	// version is the one in which it writes objects.
	version string
}

type encodedForm uint8

const (
	// formOther is anything else: objects in the version they have, JSON with spaces, YAML.
	formOther encodedForm = iota
	formJSON
	formProtobuf
)

// encodings is what is known of the encoders of this process, by their names. There are a few for each version that is
// served; those that are no longer served stay.
var encodings sync.Map // runtime.Identifier → encoding

// encodingOf is what the encoder called id writes.
func encodingOf(id runtime.Identifier) encoding {
	known, found := encodings.Load(id)
	if !found {
		known, _ = encodings.LoadOrStore(id, readIdentifier(id))
	}
	return known.(encoding)
}

// jsonVersionOf is the version that the encoder called id writes plain JSON in. It is not ok for other encoders.
func jsonVersionOf(id runtime.Identifier) (apiVersion string, ok bool) {
	e := encodingOf(id)
	return e.version, e.form == formJSON
}

// protobufIdentifier is the name of apimachinery's encoder of protobuf.
const protobufIdentifier = "protobuf"

// readIdentifier reads the names that apimachinery gives its encoders: they are maps as JSON.
func readIdentifier(id runtime.Identifier) encoding {
	var versioning, serializer map[string]string
	if json.Unmarshal([]byte(id), &versioning) != nil || versioning["name"] != "versioning" || versioning["encodeGV"] == "" {
		return encoding{}
	}
	if versioning["encoder"] == protobufIdentifier {
		return encoding{formProtobuf, versioning["encodeGV"]}
	}
	if json.Unmarshal([]byte(versioning["encoder"]), &serializer) != nil {
		return encoding{}
	}
	if serializer["name"] != "json" || serializer["yaml"] != "false" || serializer["pretty"] != "false" {
		return encoding{}
	}
	return encoding{formJSON, versioning["encodeGV"]}
}

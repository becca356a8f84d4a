// Package patchwork bounds the work of JSON patches.
//
// In come a JSON patch, the number of its operations, and the document to apply it to; out comes an error if applying
// them could take too long. It holds that the estimate is never too low: an operation on an element of a list copies
// the list, and no list gets longer than the longest one of document and patch, and one element more an operation.
package patchwork

import "fmt"

// Most is the number of list elements that the operations of a patch may copy. Ten thousand operations on a list of
// twenty thousand elements come to it; that takes a second or two.
const Most = 300_000_000

// Check refuses a patch whose operations could copy more than Most list elements.
func Check(patch []byte, operations int, document []byte) error {
	if bytes := len(document) + len(patch); operations*(bytes+operations) <= Most {
		return nil // no list has more elements than the text has bytes
	}
	longest := max(longestList(document), longestList(patch)) + operations
	if most := Most / max(operations, 1); longest > most {
		return fmt.Errorf("%d operations on lists of up to %d elements are too much work for one JSON patch, where as many operations "+
			"may make lists of %d elements: send several patches, or a merge patch", operations, longest, most)
	}
	return nil
}

// longestList returns the length of the longest list in JSON, or more.
func longestList(data []byte) (longest int) {
	var commas []int // of each open list or object
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			commas = append(commas, 0)
		case ',':
			if len(commas) > 0 {
				commas[len(commas)-1]++
			}
		case ']', '}':
			if len(commas) == 0 {
				continue
			}
			if data[i] == ']' {
				longest = max(longest, commas[len(commas)-1]+1)
			}
			commas = commas[:len(commas)-1]
		}
	}
	return longest
}

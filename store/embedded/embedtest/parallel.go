package embedtest

import (
	"flag"
	"strconv"
)

// AtOnce makes n tests that call t.Parallel run at a time, unless -parallel gives another number. go test runs as
// many as there are processors, which is too few for tests that wait for servers and processes more than they
// compute. TestMain calls it before it runs the tests.
func AtOnce(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // the testing package has no such flag any more
	}
}

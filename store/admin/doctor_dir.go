package admin

import (
	"errors"
	"fmt"
	"os"

	"github.com/kx-apiserver/kx/store/datadir"
)

// ExamineFiles checks the files of an etcd that does not run: the database page by page, and in a data directory the
// log too. ok says that the database is whole; the contents of a damaged one can't be trusted.
func ExamineFiles(path string) (out []Finding, ok bool) {
	dir, err := findDataDir(path)
	database := path
	if err == nil {
		database = datadir.DatabasePath(dir)
	} else if database, err = FindDatabase(path); err != nil {
		return nil, true // opening it says so
	}
	found := examineDatabase(database)
	out = append(out, found)
	if dir != "" {
		out = append(out, examineLog(dir))
		for i := range out {
			if out[i].Level == Problem {
				out[i].Advice = fmt.Sprintf("kx etcd salvage %s --to %s-salvaged makes a new data directory of what can be read", dir, dir)
			}
		}
	}
	return out, found.Level == OK
}

func examineDatabase(path string) Finding {
	f := Finding{Check: "database", Level: OK, Finding: path + " can be read from end to end", Advice: ""}
	problem := func(what string) Finding {
		return Finding{Check: "database", Level: Problem, Finding: path + " is damaged: " + what, Advice: "use another snapshot"}
	}
	if _, err := os.Stat(path); err != nil {
		return problem(err.Error())
	}
	if _, err := datadir.ReadDatabase(path); errors.Is(err, datadir.ErrInUse) {
		return f // opening it says so
	} else if err != nil {
		return problem(err.Error())
	}
	pages, err := datadir.OpenPages(path)
	if err != nil {
		return problem(err.Error())
	}
	defer pages.Close()
	_ = pages.Buckets(func(string) error { return nil }, func(bucket string, key, value []byte) error {
		if bucket == string(keyBucket) {
			if err := checkRecord(key, value); err != nil {
				pages.Lose(bucket, key, append(append([]byte(nil), key...), 0), err)
			}
		}
		return nil
	})
	if len(pages.Lost) == 0 {
		return f
	}
	f = problem(lossText(pages.Lost[0]))
	if more := len(pages.Lost) - 1; more > 0 {
		f.Finding += fmt.Sprintf("; and %d more places", more)
	}
	return f
}

func examineLog(dir string) Finding {
	f := Finding{Check: "log", Level: OK}
	damage := datadir.Explain(dir)
	if damage != nil && damage.File != datadir.DatabasePath(dir) {
		f.Level, f.Finding = Problem, fmt.Sprintf("%s is damaged: %s; %s can be saved", damage.File, damage.What, damage.Saved)
		return f
	}
	log, err := datadir.ReadLog(dir, nil)
	switch {
	case err != nil:
		f.Level, f.Finding = Problem, err.Error()
	case len(log.Gaps) > 0:
		f.Level, f.Finding = Problem, log.Gaps[0].String()
	case log.Files == 0:
		f.Finding = "there is none, and the database needs none"
	default:
		f.Finding = fmt.Sprintf("entries %d to %d can be read, in %d files", log.First, log.Last, log.Files)
	}
	return f
}

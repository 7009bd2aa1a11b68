// A second judge: says of histories whether they are linearizable, by Porcupine's search and the two models below.
//
// Standard input has one history a line, {"id": ..., "ops": [...]}; standard output gets a line for each,
// {"id": ..., "result": "Ok", "Illegal" or "Unknown", "where": [objects that are not Ok]}. The ops are made by
// second_opinion.py, which says what they mean.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	limit = 5 * time.Second // for one object; "Unknown" if the search takes longer
	nodes = 8               // brokers that read one queue
)

type op struct {
	Object string   `json:"object"` // "queue ..." or "log ..."
	F      string   `json:"f"`      // append or read; in a log only append
	Call   int64    `json:"call"`
	Return int64    `json:"return"`
	Name   string   `json:"name"`  // of what is appended
	At     *int64   `json:"at"`    // append: where it is, null if nobody knows; read: where the names begin
	To     int64    `json:"to"`    // append to a log: where it ends
	Node   int      `json:"node"`  // who is read
	Names  []string `json:"names"` // what was read, "" for what was not looked at
	High   *int64   `json:"high"`  // where the queue ends for its readers, as was told
	Whole  bool     `json:"whole"` // read: the names, or else High, go to the end of all that was appended
}

type history struct {
	ID  string `json:"id"`
	Ops []op   `json:"ops"`
}

type answer struct {
	ID     string   `json:"id"`
	Result string   `json:"result"`
	Where  []string `json:"where"`
}

// queue: what was appended, and how much of it each node has shown to readers, which never becomes less.
type queue struct {
	names []string
	shown [nodes]int64
}

func appendTo(q queue, o op) (bool, queue) {
	if o.At != nil && *o.At != int64(len(q.names)) {
		return false, q
	}
	q.names = append(q.names[:len(q.names):len(q.names)], o.Name)
	return true, q
}

func read(q queue, o op) (bool, queue) {
	end := int64(len(q.names))
	if o.At != nil {
		if *o.At < 0 || *o.At+int64(len(o.Names)) > end {
			return false, q
		}
		for i, name := range o.Names {
			if name != "" && q.names[*o.At+int64(i)] != name {
				return false, q
			}
		}
		if o.Whole && *o.At+int64(len(o.Names)) != end {
			return false, q
		}
	}
	if o.High != nil {
		if *o.High < q.shown[o.Node] || *o.High > end || (o.Whole && o.At == nil && *o.High != end) {
			return false, q
		}
		q.shown[o.Node] = *o.High
	}
	return true, q
}

var queues = porcupine.Model{
	Init: func() interface{} { return queue{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		o := input.(op)
		if o.F == "append" {
			return pair(appendTo(state.(queue), o))
		}
		return pair(read(state.(queue), o))
	},
	Equal: func(a, b interface{}) bool {
		one, other := a.(queue), b.(queue)
		return one.shown == other.shown && slices.Equal(one.names, other.names)
	},
}

func pair(fits bool, q queue) (bool, interface{}) { return fits, q }

// logs: where the log ends. Records lie one behind the other, with room for what no client knows of.
var logs = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		o := input.(op)
		return *o.At >= state.(int64) && o.To > *o.At, o.To
	},
}

func judge(h history) answer {
	objects := map[string][]porcupine.Operation{}
	for _, o := range h.Ops {
		one := porcupine.Operation{Input: o, Call: o.Call, Return: o.Return}
		objects[o.Object] = append(objects[o.Object], one)
	}
	found := answer{h.ID, string(porcupine.Ok), []string{}}
	for name, ops := range objects {
		model := queues
		if name[:4] == "log " {
			model = logs
		}
		result := porcupine.CheckOperationsTimeout(model, ops, limit)
		if result == porcupine.Ok {
			continue
		}
		found.Where = append(found.Where, name)
		if found.Result != string(porcupine.Illegal) {
			found.Result = string(result)
		}
	}
	sort.Strings(found.Where)
	return found
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<28)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var h history
		err := json.Unmarshal(lines.Bytes(), &h)
		if err == nil {
			err = out.Encode(judge(h))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Renders a chart as `helm template` does: Go's templates, Sprig's functions, and those of Helm that the chart uses.
// Reads the templates and their data as JSON from standard input, and prints each file's text as JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type input struct {
	Templates map[string]string
	Files     map[string]string
	Values    map[string]interface{}
	Chart     map[string]interface{}
	Release   map[string]interface{}
}

type files map[string]string

func (files files) Get(name string) string { return files[name] }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var given input
	fail(json.NewDecoder(os.Stdin).Decode(&given))
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	all.Funcs(functions)
	for name, text := range given.Templates {
		_, err := all.New(name).Parse(text)
		fail(err)
	}
	data := map[string]interface{}{
		"Values": given.Values, "Chart": given.Chart, "Release": given.Release, "Files": files(given.Files),
	}
	rendered := map[string]string{}
	for name := range given.Templates {
		if strings.HasSuffix(name, ".tpl") {
			continue
		}
		var text strings.Builder
		fail(all.ExecuteTemplate(&text, name, data))
		// As Helm does; `missingkey=zero` prints this for maps of any value.
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	fail(json.NewEncoder(os.Stdout).Encode(rendered))
}

"""Pages as HTML: the templates of every page, with one base page and one stylesheet."""

"""A small shop on Flask and SQLite, with the server that comes with Flask."""

import os
import sqlite3
import tempfile

from flask import Flask, abort, g, redirect, render_template_string, request, session, url_for
from werkzeug.serving import make_server

app = Flask(__name__)
app.secret_key = "for tests"
database = os.path.join(tempfile.mkdtemp(), "shop.db")

PAGE = """<!doctype html><title>{{ title }}</title><h1>{{ title }}</h1>
<ul>{% for href, text in links %}<li><a href="{{ href }}">{{ text }}</a></li>{% endfor %}</ul>
{% if form %}<form method="post" action="{{ form }}">
<input type="hidden" name="product" value="{{ product }}"><button>Go on</button></form>{% endif %}"""


def store():
    if "store" not in g:
        g.store = sqlite3.connect(database)
    return g.store


@app.teardown_appcontext
def close(_error):
    if "store" in g:
        g.store.close()


def page(title, links=(), form=None, product=0):
    return render_template_string(PAGE, title=title, links=links, form=form, product=product)


@app.get("/")
def home():
    rows = store().execute("SELECT DISTINCT department FROM products ORDER BY 1")
    return page("Shop", [(url_for("department", name=name), name) for (name,) in rows])


@app.get("/department/<name>")
def department(name):
    rows = store().execute("SELECT id, name FROM products WHERE department = ?", (name,))
    return page(name, [(url_for("product", number=number), text) for number, text in rows])


@app.get("/product/<int:number>")
def product(number):
    row = store().execute("SELECT name FROM products WHERE id = ?", (number,)).fetchone()
    return page(row[0], form=url_for("add"), product=number) if row else abort(404)


@app.post("/basket")
def add():
    session["basket"] = session.get("basket", []) + [int(request.form["product"])]
    return redirect(url_for("basket"))


@app.get("/basket")
def basket():
    return page("Basket", form=url_for("order") if session.get("basket") else None)


@app.post("/order")
def order():
    bought = session.pop("basket", None) or abort(400)
    with store() as connection:
        connection.execute("INSERT INTO orders (products) VALUES (?)", (str(bought),))
    return page("Thank you", [(url_for("home"), "Shop")])


with sqlite3.connect(database) as connection:
    connection.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, department, name)")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, products)")
    names = [(number, f"d{number % 10}", f"Product {number}") for number in range(1, 301)]
    connection.executemany("INSERT INTO products VALUES (?, ?, ?)", names)

server = make_server("127.0.0.1", 0, app, threaded=True)
print(f"site: http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

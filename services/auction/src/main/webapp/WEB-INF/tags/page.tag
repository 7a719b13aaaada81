<%@ tag pageEncoding="UTF-8" body-content="scriptless" trimDirectiveWhitespaces="true" %>
<%@ attribute name="title" required="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title><c:out value="${title}"/> – Auction</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; color: #222; }
header { display: flex; gap: 1rem; border-bottom: 1px solid #ccc; padding-bottom: .5rem; }
ul.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .5rem; padding: 0; list-style: none; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #eee; }
.number { text-align: right; } label { display: block; margin: .5rem 0; } .notice { background: #fff3d6; padding: .5rem 1rem; }
</style>
</head>
<body>
<header>
<a href="/"><strong>Auction</strong></a>
<a href="/browse">Browse</a>
<a href="/categories">Categories</a>
<a href="/regions">Regions</a>
<a href="/register">Register</a>
<a href="/me">My auctions</a>
</header>
<main>
<h1><c:out value="${title}"/></h1>
<jsp:doBody/>
</main>
</body>
</html>

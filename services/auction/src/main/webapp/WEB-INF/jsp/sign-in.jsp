<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Sign in to ${verb}">
<site:summary item="${item}"/>
<form method="post" action="/items/${item.id()}/${verb}">
<label>Nickname <input type="text" name="nickname" required></label>
<label>Password <input type="password" name="password" required></label>
<button type="submit">Sign in and ${verb}</button>
</form>
<p>No account yet? <a href="/register">Open one</a>.</p>
</site:page>

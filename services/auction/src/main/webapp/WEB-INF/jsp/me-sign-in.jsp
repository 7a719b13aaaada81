<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="My auctions">
<form method="post" action="/me">
<label>Nickname <input type="text" name="nickname" required></label>
<label>Password <input type="password" name="password" required></label>
<button type="submit">Sign in</button>
</form>
</site:page>

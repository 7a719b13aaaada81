<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Register">
<form method="post" action="/register">
<label>First name <input type="text" name="firstname" maxlength="40" required></label>
<label>Last name <input type="text" name="lastname" maxlength="40" required></label>
<label>Nickname <input type="text" name="nickname" maxlength="40" required></label>
<label>Email <input type="email" name="email" maxlength="80" required></label>
<label>Password <input type="password" name="password" maxlength="100" required></label>
<label>Region <select name="region">
<c:forEach items="${regions}" var="region"><option value="${region.id()}"><c:out value="${region.name()}"/></option></c:forEach>
</select></label>
<button type="submit">Open the account</button>
</form>
</site:page>

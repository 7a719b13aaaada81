<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Welcome">
<p class="notice" role="status">Your account <c:out value="${person.nickname()}"/> is open.</p>
<p><a href="/users/${person.id()}">Your page</a> <a href="/browse">Browse</a></p>
</site:page>

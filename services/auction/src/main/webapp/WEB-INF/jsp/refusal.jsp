<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="${title}">
<p class="notice" role="alert"><c:out value="${why}"/></p>
<p><a href="/browse">Browse</a></p>
</site:page>

<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="${title}">
<c:choose>
<c:when test="${list.entries() == 0}"><p>Nothing is on offer here at the moment.</p></c:when>
<c:otherwise>
<p>Page ${list.page()} of ${list.pages()}; ${list.entries()} items.</p>
<site:items of="${list.items()}"/>
</c:otherwise>
</c:choose>
<p>
<c:if test="${list.page() > 1}"><a href="${path}?page=${list.page() - 1}">Previous page</a></c:if>
<c:if test="${list.page() < list.pages()}"><a href="${path}?page=${list.page() + 1}">Next page</a></c:if>
</p>
</site:page>

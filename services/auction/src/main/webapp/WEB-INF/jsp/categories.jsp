<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="${title}">
<ul class="tiles">
<c:forEach items="${categories}" var="category">
<li><a href="${path}/${category.id()}"><c:out value="${category.name()}"/></a> ${category.items()}</li>
</c:forEach>
</ul>
</site:page>

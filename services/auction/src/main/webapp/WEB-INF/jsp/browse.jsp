<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Browse">
<h2><a href="/categories">By category</a></h2>
<ul class="tiles">
<c:forEach items="${categories}" var="category">
<li><a href="/categories/${category.id()}"><c:out value="${category.name()}"/></a> ${category.items()}</li>
</c:forEach>
</ul>
<h2><a href="/regions">By region</a></h2>
<ul class="tiles">
<c:forEach items="${regions}" var="region">
<li><a href="/regions/${region.id()}"><c:out value="${region.name()}"/></a> ${region.items()}</li>
</c:forEach>
</ul>
</site:page>

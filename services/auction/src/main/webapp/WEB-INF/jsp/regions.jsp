<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Regions">
<ul class="tiles">
<c:forEach items="${regions}" var="region">
<li><a href="/regions/${region.id()}"><c:out value="${region.name()}"/></a> ${region.items()}</li>
</c:forEach>
</ul>
</site:page>

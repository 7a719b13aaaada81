<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="${person.nickname()}">
<p>From <c:out value="${person.region()}"/>, registered since ${person.since()}, rating ${person.rating()}.</p>
<h2>What others say</h2>
<site:comments of="${comments}"/>
</site:page>

<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Auction">
<p><a href="/browse">Browse everything on offer</a>, or look at what ends next.</p>
<site:items of="${items}"/>
</site:page>

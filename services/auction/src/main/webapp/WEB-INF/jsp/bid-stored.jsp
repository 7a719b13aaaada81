<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="You lead">
<p class="notice" role="status">Your bid of ${bid.shown()} is stored, and it is the highest.</p>
<site:summary item="${item}"/>
<p><a href="/items/${item.id()}">Back to the item</a> <a href="/browse">Browse on</a></p>
</site:page>

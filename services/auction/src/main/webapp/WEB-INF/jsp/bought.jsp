<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Thank you for your purchase">
<p class="notice" role="status">It is yours: ${quantity} at ${item.buyNow().shown()} each, ${total.shown()} in all.</p>
<p><a href="/items/${item.id()}">Back to the item</a> <a href="/browse">Browse on</a></p>
</site:page>

<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="${item.name()}">
<site:summary item="${item}"/>
<p><c:out value="${item.description()}"/></p>
<p>
<c:if test="${item.active()}"><a href="/items/${item.id()}/bid">Bid</a></c:if>
<c:if test="${item.purchasable()}"><a href="/items/${item.id()}/buy">Buy now for ${item.buyNow().shown()}</a></c:if>
<a href="/items/${item.id()}/bids">Bids</a>
<a href="/users/${item.seller()}">Seller</a>
</p>
</site:page>

<%@ tag pageEncoding="UTF-8" body-content="empty" trimDirectiveWhitespaces="true" %>
<%@ attribute name="item" required="true" type="tidegate.auction.Item" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<table>
<tr><th>Item</th><td><a href="/items/${item.id()}"><c:out value="${item.name()}"/></a></td></tr>
<tr><th>Price</th><td>${item.price().shown()}</td></tr>
<tr><th>Quantity</th><td>${item.quantity()}</td></tr>
<tr><th>Bids</th><td><a href="/items/${item.id()}/bids">${item.bids()}</a></td></tr>
<tr><th>Seller</th><td><a href="/users/${item.seller()}"><c:out value="${item.sellerName()}"/></a></td></tr>
<tr><th>Ends</th><td>${item.ends()}</td></tr>
</table>

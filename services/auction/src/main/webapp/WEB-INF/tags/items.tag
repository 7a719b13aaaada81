<%@ tag pageEncoding="UTF-8" body-content="empty" trimDirectiveWhitespaces="true" %>
<%@ attribute name="of" required="true" type="java.util.List" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<table>
<thead><tr><th>Item</th><th class="number">Price</th><th class="number">Bids</th><th>Ends</th><th></th></tr></thead>
<tbody>
<c:forEach items="${of}" var="item">
<tr>
<td><a href="/items/${item.id()}"><c:out value="${item.name()}"/></a></td>
<td class="number">${item.price().shown()}</td>
<td class="number"><a href="/items/${item.id()}/bids">${item.bids()}</a></td>
<td>${item.ends()}</td>
<td><c:if test="${item.active()}"><a href="/items/${item.id()}/bid">Bid</a></c:if></td>
</tr>
</c:forEach>
</tbody>
</table>
